// SPDX-License-Identifier: Apache-2.0
//
// The text of a JSON file, plain or compressed by gzip, as RapidJSON reads it: one character at a time, in
// pieces. The rule: never more of the text in memory than a piece and the token at hand, which is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "../replay/ring_file.h"

namespace memsnap::snapshot {

class JsonInput {
  public:
    using Ch = char;
    static constexpr size_t kPiece_bytes = size_t{1} << 17;
    static constexpr uint64_t kLongestToken_bytes = uint64_t{16} << 20;

    explicit JsonInput(const RingFile& file);
    ~JsonInput();

    // The end, and what cannot be read, is a 0.
    char Peek() { return at_ < end_ || load() ? text_[at_] : '\0'; }
    char Take() { return at_ < end_ || load() ? text_[at_++] : '\0'; }
    size_t Tell() const { return static_cast<size_t>(loaded_bytes_ - (end_ - at_)); }  // of the text

    // Whoever reads took a token; the next one begins here.
    void token_taken() { token_begin_bytes_ = Tell(); }

    bool is_compressed() const { return inflater_ != nullptr; }
    bool is_token_too_long() const { return too_long_; }
    // Why the text ended early: what the system said, or damage of the compressed file.
    const std::optional<Error>& error() const { return error_; }

    // RapidJSON asks for them, and calls them only where it writes in place.
    char* PutBegin() { return nullptr; }
    void Put(char) {}
    size_t PutEnd(char*) { return 0; }

  private:
    struct Inflater;

    bool load();
    size_t read_file(char* into, size_t size);
    size_t inflate_piece();

    const RingFile& file_;
    std::unique_ptr<Inflater> inflater_;
    std::vector<char> text_;
    size_t at_ = 0, end_ = 0;
    uint64_t file_at_bytes_ = 0;
    uint64_t loaded_bytes_ = 0;
    uint64_t token_begin_bytes_ = 0;
    bool too_long_ = false;
    std::optional<Error> error_;
};

}  // namespace memsnap::snapshot
