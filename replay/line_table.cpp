// SPDX-License-Identifier: Apache-2.0
//
// co_lnotab of CPython 3.9; co_linetable of 3.10; the location table of 3.11 and later. All three list ranges
// of the code in order, each with the difference of its line to the one before.
#include "line_table.h"

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

std::optional<uint32_t> as_line(int64_t line) {
    if (line < 0 || line > int64_t{INT32_MAX}) return std::nullopt;
    return static_cast<uint32_t>(line);
}

// Pairs: bytes of code up to the next line, and how many lines it is further.
std::optional<uint32_t> line_by_lnotab(const LineQuestion& question, Bytes table) {
    int64_t line = question.first_line;
    uint64_t address = 0;
    while (!table.empty()) {
        const auto code_bytes = table.next();
        const auto lines = table.next();
        if (!code_bytes || !lines) return std::nullopt;
        address += *code_bytes;
        if (address > question.instruction_bytes) break;
        line += static_cast<int8_t>(*lines);
    }
    return as_line(line);
}

// Pairs: bytes of code of a range, and how many lines it is further; −128: it has no line.
std::optional<uint32_t> line_by_ranges(const LineQuestion& question, Bytes table) {
    constexpr int8_t kNoLine = -128;
    int64_t line = question.first_line;
    uint64_t end = 0;
    while (!table.empty()) {
        const auto code_bytes = table.next();
        const auto lines = table.next();
        if (!code_bytes || !lines) return std::nullopt;
        const auto further = static_cast<int8_t>(*lines);
        if (further != kNoLine) line += further;
        end += *code_bytes;
        if (question.instruction_bytes >= end) continue;
        return further == kNoLine ? std::nullopt : as_line(line);
    }
    return std::nullopt;
}

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

// Entries: a byte with the highest bit set, the kind of location and how many code units it is for; then what
// the kind has of lines and columns.
std::optional<uint32_t> line_by_locations(const LineQuestion& question, Bytes table) {
    constexpr uint8_t kFirst = 128;
    constexpr uint64_t kCodeUnit_bytes = 2;
    int64_t line = question.first_line;
    uint64_t end = 0;
    while (const auto first = table.next()) {
        if ((*first & kFirst) == 0) return std::nullopt;
        const unsigned kind = *first >> 3 & 15;
        std::optional<int64_t> further = 0;
        if (kind == 13 || kind == 14) {
            further = signed_number(table);
        } else if (kind >= 10 && kind <= 12) {
            further = kind - 10;
        }
        if (!further) return std::nullopt;
        line += *further;
        end += ((*first & 7U) + 1) * kCodeUnit_bytes;
        constexpr unsigned kNoLocation = 15;
        if (question.instruction_bytes < end) return kind == kNoLocation ? std::nullopt : as_line(line);
        table.skip_while_continued(kFirst);
    }
    return std::nullopt;
}

}  // namespace

std::optional<uint32_t> line_of(const LineQuestion& question, std::span<const std::byte> table) {
    if (question.python_major != 3) return std::nullopt;
    switch (question.python_minor) {
        case 9:
            return line_by_lnotab(question, Bytes(table));
        case 10:
            return line_by_ranges(question, Bytes(table));
        case 11:
        case 12:
        case 13:
        case 14:
            return line_by_locations(question, Bytes(table));
        default:
            return std::nullopt;
    }
}

}  // namespace memsnap
