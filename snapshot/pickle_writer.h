// SPDX-License-Identifier: Apache-2.0
//
// Values as a pickle of protocol 4, written in pieces as they come. The rule: only the opcodes that PyTorch's
// viewer knows, and only data: numbers, texts, lists, tuples of two and dictionaries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "seeded_hash.h"

namespace memsnap::snapshot {

// Takes the next bytes; false ends the writing.
using ByteSink = std::function<bool(std::string_view bytes)>;

// Values are written in the order of the calls. In a dictionary a key and its value take turns; in a list
// each value is announced by item().
class PickleWriter {
  public:
    using Memo = uint32_t;  // number of a remembered value

    explicit PickleWriter(ByteSink sink);

    void none();
    void boolean(bool value);
    void number(uint64_t value);
    void signed_number(int64_t value);
    void real(double value);
    // UTF-8. One that was written before is only referred to.
    void text(std::string_view value);
    void pair(uint64_t first, uint64_t second);

    void open_dictionary();
    void close_dictionary();
    void open_list();
    void item();
    void close_list();

    Memo remember();  // the value that was written last
    void recall(Memo memo);

    // False: the sink had enough, earlier or now.
    bool finish();
    bool open() const { return open_; }

  private:
    void byte(uint8_t value) { buffer_.push_back(static_cast<char>(value)); }
    void little_endian(uint64_t value, int bytes);
    void flush();

    ByteSink sink_;
    std::string buffer_;
    std::unordered_map<std::string, Memo, SeededHash, std::equal_to<>> texts_;
    std::vector<uint32_t> list_counts_;  // items of the open lists
    Memo memo_count_ = 0;
    bool open_ = true;
};

}  // namespace memsnap::snapshot
