// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a pickle, in pieces. The rule: never more of the file in memory than one piece, and no length
// that the file tells is believed before the file is that long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "../replay/ring_file.h"

namespace memsnap::snapshot {

class PickleInput {
  public:
    static constexpr size_t kPiece_bytes = size_t{1} << 20;

    explicit PickleInput(const RingFile& file);

    uint64_t offset_bytes() const { return loaded_bytes_ - (end_ - at_); }
    uint64_t left_bytes() const { return file_.size_bytes() - offset_bytes(); }

    // The next bytes in one piece, at most kPiece_bytes; valid until the next call. nullptr: the file has not
    // so many, or error().
    const uint8_t* take(size_t count) {
        if (end_ - at_ < count && !load(count)) return nullptr;
        const uint8_t* const bytes = buffer_.data() + at_;
        at_ += count;
        return bytes;
    }
    bool skip(uint64_t count);

    // Up to the next line feed, without it. A line longer than a piece is passed over and not whole.
    struct Line {
        std::string_view text;
        bool whole = true;
    };
    std::optional<Line> line();

    // What the system said when it could not read.
    const std::optional<Error>& error() const { return error_; }

  private:
    bool load(size_t count);

    const RingFile& file_;
    std::vector<uint8_t> buffer_;
    size_t at_ = 0, end_ = 0;
    uint64_t loaded_bytes_ = 0;
    std::optional<Error> error_;
};

}  // namespace memsnap::snapshot
