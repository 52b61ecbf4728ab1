// SPDX-License-Identifier: Apache-2.0
#include "python_text.h"

namespace memsnap::recorder {
namespace {

unsigned char last_six_bits(uint32_t character) {
    return static_cast<unsigned char>(0x80 | (character & 0x3f));
}

}  // namespace

size_t utf8_size(uint32_t character) {
    if (character < 0x80) return 1;
    if (character < 0x800) return 2;
    return character < 0x10000 ? 3 : 4;
}

size_t write_utf8(uint32_t character, unsigned char* target) {
    constexpr unsigned char kLeads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size_bytes = utf8_size(character);
    for (size_t i = size_bytes; i > 1; --i) {
        target[i - 1] = last_six_bits(character);
        character >>= 6;
    }
    target[0] = static_cast<unsigned char>(kLeads[size_bytes] | character);
    return size_bytes;
}

}  // namespace memsnap::recorder
