// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a log in, letters out. The rule: in pieces of any size, in bounded memory, whatever the bytes are;
// what is not ASCII stands in no message and counts as white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triage_text.h"

namespace memsnap {

class LogNormaliser {
  public:
    // The next bytes of the log; `last`: there are no more. Letters are added to the text.
    void feed(std::string_view bytes, bool last, TightText& text);

    uint64_t bytes_read() const { return bytes_read_; }
    uint64_t line_count() const { return ends_with_line_ || bytes_read_ == 0 ? line_ - 1 : line_; }

  private:
    void take_units(std::string_view bytes);
    void begin_line(TightText& text);
    // How many bytes it was; 0: a letter of the log.
    size_t markup(std::string_view rest, TightText& text);
    size_t escaped(std::string_view rest, TightText& text);
    void emit(char letter, TightText& text);
    uint64_t offset_bytes(size_t at) const { return (base_ + at) * unit_bytes_; }

    std::string pending_;
    uint64_t base_ = 0;  // of pending_, in units
    size_t at_ = 0;      // in pending_
    uint64_t bytes_read_ = 0;
    unsigned unit_bytes_ = 1;  // 2: UTF-16, as PowerShell redirects
    uint64_t line_ = 1;
    bool at_line_begin_ = true;
    bool spaced_ = false;
    bool ends_with_line_ = false;
};

}  // namespace memsnap
