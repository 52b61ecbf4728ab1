// SPDX-License-Identifier: Apache-2.0
//
// By the table of well-formed sequences of the Unicode standard: no long forms, no surrogates.
#include "utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace memsnap {

size_t utf8_sequence_bytes(std::string_view text) {
    const auto byte = [&](size_t at) {
        return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
    };
    const auto within = [&](size_t at, uint8_t least, uint8_t most) {
        return byte(at) >= least && byte(at) <= most;
    };
    const auto follows = [&](size_t at) { return within(at, 0x80, 0xBF); };
    const uint8_t first = byte(0);
    if (first < 0x80) return 1;
    if (within(0, 0xC2, 0xDF)) return follows(1) ? 2 : 0;
    if (within(0, 0xE0, 0xEF)) {
        const uint8_t least = first == 0xE0 ? 0xA0 : 0x80;
        const uint8_t most = first == 0xED ? 0x9F : 0xBF;
        return within(1, least, most) && follows(2) ? 3 : 0;
    }
    if (within(0, 0xF0, 0xF4)) {
        const uint8_t least = first == 0xF0 ? 0x90 : 0x80;
        const uint8_t most = first == 0xF4 ? 0x8F : 0xBF;
        return within(1, least, most) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

char32_t utf8_code_point(std::string_view sequence) {
    constexpr unsigned kFirstBits[] = {0x7F, 0x7F, 0x1F, 0x0F, 0x07};  // of a sequence of so many bytes
    char32_t point = static_cast<uint8_t>(sequence.front()) & kFirstBits[sequence.size()];
    for (const char next : sequence.substr(1))
        point = point << 6 | (static_cast<uint8_t>(next) & 0x3F);
    return point;
}

std::string utf8_text(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const size_t size = utf8_sequence_bytes(bytes);
        if (size == 0) {
            text += fmt::format("\\x{:02x}", static_cast<uint8_t>(bytes.front()));
        } else {
            text += bytes.substr(0, size);
        }
        bytes.remove_prefix(size == 0 ? 1 : size);
    }
    return text;
}

std::string_view last_part(std::string_view text, size_t bytes_most) {
    if (text.size() <= bytes_most) return text;
    text.remove_prefix(text.size() - bytes_most);
    while (!text.empty() && (static_cast<uint8_t>(text.front()) & 0xC0U) == 0x80U)
        text.remove_prefix(1);
    return text;
}

}  // namespace memsnap
