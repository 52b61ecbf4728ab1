// SPDX-License-Identifier: Apache-2.0
//
// CRC32C by a table of 256 entries. Rule: the table follows from the polynomial; nothing is typed in.
#include "checksum.h"

#include <array>

namespace oracle {
namespace {

constexpr u32 kReflectedPolynomial = 0x82F63B78U;

constexpr std::array<u32, 256> make_table() {
    std::array<u32, 256> table{};
    for (u32 byte = 0; byte < 256; ++byte) {
        u32 value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? (value >> 1) ^ kReflectedPolynomial : value >> 1;
        table[byte] = value;
    }
    return table;
}

constexpr std::array<u32, 256> kTable = make_table();

}  // namespace

u32 crc32c(std::span<const std::byte> first, std::span<const std::byte> second) {
    u32 value = ~u32{0};
    for (auto part : {first, second}) {
        for (auto byte : part)
            value = kTable[(value ^ static_cast<u32>(byte)) & 0xFFU] ^ (value >> 8);
    }
    return ~value;
}

}  // namespace oracle
