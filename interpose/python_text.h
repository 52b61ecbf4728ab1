// SPDX-License-Identifier: Apache-2.0
//
// Python's strings as UTF-8, read where they lie. The rules: only the end of a long text is read and kept,
// from a whole character on; what UTF-8 cannot say (half of a surrogate pair) becomes U+FFFD.
#pragma once

#include "own_memory.h"
#include "python_layout.h"
#include "text.h"

namespace memsnap::recorder {

struct TextPlace {
    uintptr_t characters = 0;
    uint64_t length = 0;
    uint8_t character_bytes = 0;  // 0: not a string of the usual form
};

template <typename Memory>
TextPlace place_of_text(const PythonLayout& layout, Memory& memory, uintptr_t text) {
    constexpr uint32_t kKindShift = 2;
    constexpr uint32_t kKindMask = 7;
    constexpr uint32_t kCompactBit = 1u << 5;
    constexpr uint32_t kAsciiBit = 1u << 6;
    TextPlace place;
    auto state = memory.template at<uint32_t>(text + layout.text_state);
    if ((state & kCompactBit) == 0) return place;  // of a class derived from str
    bool ascii = (state & kAsciiBit) != 0;
    uint32_t kind = state >> kKindShift & kKindMask;
    if (kind != 1 && kind != 2 && kind != 4) return place;
    place.character_bytes = static_cast<uint8_t>(kind);
    place.length = memory.template at<uint64_t>(text + layout.text_length);
    place.characters = text + (ascii ? layout.ascii_characters : layout.other_characters);
    return place;
}

template <typename Memory>
uint32_t character_at(Memory& memory, const TextPlace& place, uint64_t index) {
    uintptr_t at = place.characters + index * place.character_bytes;
    uint32_t character = 0;
    if (place.character_bytes == 1) character = memory.template at<uint8_t>(at);
    if (place.character_bytes == 2) character = memory.template at<uint16_t>(at);
    if (place.character_bytes == 4) character = memory.template at<uint32_t>(at);
    return character;
}

// The last part of a text, of at most `limit_bytes`; returns its size.
template <typename Memory>
size_t write_text(const PythonLayout& layout, Memory& memory, uintptr_t text, unsigned char* target,
                  size_t limit_bytes) {
    TextPlace place = place_of_text(layout, memory, text);
    if (place.character_bytes == 0) return 0;
    uint64_t first = place.length;
    size_t size_bytes = 0;
    while (first != 0) {
        size_t more_bytes = utf8_size(character_at(memory, place, first - 1));
        if (size_bytes + more_bytes > limit_bytes) break;
        size_bytes += more_bytes;
        --first;
    }
    unsigned char* end = target;
    for (uint64_t i = first; i < place.length; ++i) {
        end += write_utf8(character_at(memory, place, i), end);
    }
    return static_cast<size_t>(end - target);
}

}  // namespace memsnap::recorder
