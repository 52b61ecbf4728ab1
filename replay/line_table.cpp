// SPDX-License-Identifier: Apache-2.0
//
// co_lnotab of CPython 3.9; co_linetable of 3.10; the location table of 3.11 and later. All three list ranges
// of the code in order, each with the difference of its line to the one before.
#include "line_table.h"

#include <algorithm>

namespace memsnap {
namespace {

class Bytes {
  public:
    explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
    bool empty() const { return at_ >= bytes_.size(); }
    std::optional<uint8_t> next() {
        if (empty()) return std::nullopt;
        return static_cast<uint8_t>(bytes_[at_++]);
    }
    void skip_while_continued(uint8_t first_bit) {
        while (!empty() && (static_cast<uint8_t>(bytes_[at_]) & first_bit) == 0)
            ++at_;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t at_ = 0;
};

// Six bits a byte, the lowest first; bit 6 says that another byte follows.
std::optional<int64_t> number(Bytes& table) {
    uint64_t value = 0;
    for (int shift = 0; shift < 32; shift += 6) {
        const auto byte = table.next();
        if (!byte) return std::nullopt;
        value |= uint64_t{*byte & 63U} << shift;
        if ((*byte & 64) == 0) return static_cast<int64_t>(value);
    }
    return std::nullopt;
}

// The sign is the lowest bit.
std::optional<int64_t> signed_number(Bytes& table) {
    const auto value = number(table);
    if (!value) return std::nullopt;
    return (*value & 1) != 0 ? -(*value >> 1) : *value >> 1;
}

}  // namespace

class LineDecoder {
  public:
    LineDecoder(std::vector<LineTable::Range>& ranges, uint32_t first_line)
        : ranges_(ranges), line_(first_line) {}

    // Pairs: bytes of code up to the next line, and how many lines it is further.
    void read_lnotab(Bytes table) {
        while (!table.empty()) {
            const auto code_bytes = table.next();
            const auto lines = table.next();
            if (!code_bytes || !lines) return;
            add(*code_bytes, true);
            line_ += static_cast<int8_t>(*lines);
        }
        ranges_.push_back({UINT32_MAX, line()});
    }

    // Pairs: bytes of code of a range, and how many lines it is further; −128: it has no line.
    void read_ranges(Bytes table) {
        constexpr int8_t kNowhere = -128;
        while (!table.empty()) {
            const auto code_bytes = table.next();
            const auto lines = table.next();
            if (!code_bytes || !lines) return;
            const auto further = static_cast<int8_t>(*lines);
            if (further != kNowhere) line_ += further;
            add(*code_bytes, further != kNowhere);
        }
    }

    // Entries: a byte with the highest bit set, the kind of location and how many code units it is for; then
    // what the kind has of lines and columns.
    void read_locations(Bytes table) {
        constexpr uint8_t kFirst = 128;
        constexpr uint32_t kCodeUnit_bytes = 2;
        constexpr unsigned kNoLocation = 15;
        while (const auto first = table.next()) {
            if ((*first & kFirst) == 0) return;
            const unsigned kind = *first >> 3 & 15;
            std::optional<int64_t> further = 0;
            if (kind == 13 || kind == 14) {
                further = signed_number(table);
            } else if (kind >= 10 && kind <= 12) {
                further = kind - 10;
            }
            if (!further) return;
            line_ += *further;
            add(((*first & 7U) + 1) * kCodeUnit_bytes, kind != kNoLocation);
            table.skip_while_continued(kFirst);
        }
    }

  private:
    uint32_t line() const {
        return line_ < 0 || line_ > int64_t{INT32_MAX} ? LineTable::kNoLine : static_cast<uint32_t>(line_);
    }
    // The next bytes of the code.
    void add(uint32_t code_bytes, bool has_line) {
        if (code_bytes == 0) return;
        end_ += code_bytes;
        ranges_.push_back({end_ - 1, has_line ? line() : LineTable::kNoLine});
    }

    std::vector<LineTable::Range>& ranges_;
    int64_t line_;
    uint32_t end_ = 0;  // a table has less than 64 KiB, so it never runs over
};

LineTable::LineTable(const CodeLines& code, std::span<const std::byte> table) {
    LineDecoder decoder(ranges_, code.first_line);
    const unsigned minor = code.python_major == 3 ? code.python_minor : 0;
    if (minor == 9) decoder.read_lnotab(Bytes(table));
    if (minor == 10) decoder.read_ranges(Bytes(table));
    if (minor >= 11 && minor <= 14) decoder.read_locations(Bytes(table));
}

std::optional<uint32_t> LineTable::line_at(uint32_t instruction_bytes) const {
    const auto range = std::ranges::lower_bound(ranges_, instruction_bytes, {}, &Range::last_bytes);
    if (range == ranges_.end() || range->line == kNoLine) return std::nullopt;
    return range->line;
}

}  // namespace memsnap
