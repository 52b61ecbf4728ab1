// SPDX-License-Identifier: Apache-2.0
//
// By code points. Widths are those that fmt pads by.
#include "shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "utf8.h"

namespace memsnap {
namespace {

constexpr std::string_view kCut = "..";

struct Range {
    char32_t first, last;
};

bool within(char32_t point, std::span<const Range> ranges) {
    return std::ranges::any_of(
        ranges, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

bool may_be_shown(char32_t point) {
    // Controls, marks and overrides of direction, separators of lines and paragraphs.
    constexpr Range kHidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},
                                 {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
    return !within(point, kHidden);
}

size_t columns_of_point(char32_t point) {
    constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2329, 0x232A},  {0x2E80, 0x303E},   {0x3040, 0xA4CF},
                               {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
                               {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF},
                               {0x20000, 0x2FFFD}, {0x30000, 0x3FFFD}};
    return within(point, kWide) ? 2 : 1;
}

// Bytes of the text that fit, and the columns that they take.
struct Fitting {
    size_t bytes = 0, columns = 0;
};

Fitting fitting(std::string_view shown, size_t columns_most) {
    Fitting fits;
    while (fits.bytes < shown.size()) {
        const std::string_view rest = shown.substr(fits.bytes);
        const size_t bytes = std::max<size_t>(utf8_sequence_bytes(rest), 1);
        const size_t columns = columns_of_point(utf8_code_point(rest.substr(0, bytes)));
        if (fits.columns + columns > columns_most) break;
        fits.bytes += bytes;
        fits.columns += columns;
    }
    return fits;
}

}  // namespace

std::string shown_text(std::string_view text, Letters letters) {
    std::string shown;
    while (!text.empty()) {
        const size_t bytes = utf8_sequence_bytes(text);
        const std::string_view sequence = text.substr(0, std::max<size_t>(bytes, 1));
        const bool letter = bytes == 1 || (bytes != 0 && letters == Letters::utf8);
        if (letter && may_be_shown(utf8_code_point(sequence))) {
            shown += sequence;
        } else {
            for (const char c : sequence)
                shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
        }
        text.remove_prefix(sequence.size());
    }
    return shown;
}

size_t columns_of(std::string_view shown) {
    return fitting(shown, SIZE_MAX).columns;
}

std::string cut_to_columns(std::string_view shown, size_t columns_most) {
    const Fitting all = fitting(shown, columns_most);
    if (all.bytes == shown.size()) return std::string(shown);
    const size_t kept = columns_most - std::min(columns_most, kCut.size());
    return std::string(shown.substr(0, fitting(shown, kept).bytes))
        .append(kCut.substr(0, std::min(columns_most, kCut.size())));
}

std::string cut_in_the_middle(std::string_view shown, size_t columns_most) {
    const size_t all = columns_of(shown);
    if (all <= columns_most || columns_most <= kCut.size()) return cut_to_columns(shown, columns_most);
    const size_t head = (columns_most - kCut.size()) / 3;
    const size_t tail = columns_most - kCut.size() - head;
    std::string_view end = shown.substr(fitting(shown, all - tail).bytes);
    // A letter of two columns that only half of would fit is left out.
    if (columns_of(end) > tail) end.remove_prefix(fitting(end, 2).bytes);
    return std::string(shown.substr(0, fitting(shown, head).bytes)).append(kCut).append(end);
}

}  // namespace memsnap
