// SPDX-License-Identifier: Apache-2.0
//
// CRC32C by instruction (x86-64 SSE 4.2, aarch64 crc) or by table.
#include "crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace memsnap {

namespace {

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table = {};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0);
        table[byte] = value;
    }
    return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
#define MEMSNAP_CRC_TARGET __attribute__((target("sse4.2")))
MEMSNAP_CRC_TARGET uint64_t step8(uint64_t crc, uint64_t word) {
    return _mm_crc32_u64(crc, word);
}
MEMSNAP_CRC_TARGET uint32_t step1(uint32_t crc, uint8_t byte) {
    return _mm_crc32_u8(crc, byte);
}
bool has_instruction() {
    return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__)
#define MEMSNAP_CRC_TARGET __attribute__((target("+crc")))
MEMSNAP_CRC_TARGET uint64_t step8(uint64_t crc, uint64_t word) {
    return __crc32cd(static_cast<uint32_t>(crc), word);
}
MEMSNAP_CRC_TARGET uint32_t step1(uint32_t crc, uint8_t byte) {
    return __crc32cb(crc, byte);
}
bool has_instruction() {
    return (getauxval(AT_HWCAP) & (1UL << 7)) != 0;
}  // HWCAP_CRC32
#else
#define MEMSNAP_CRC_TARGET
#endif

#if defined(__x86_64__) || defined(__aarch64__)
MEMSNAP_CRC_TARGET uint32_t by_instruction(uint32_t crc, std::span<const std::byte> bytes) {
    uint64_t state = ~crc;
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + at, 8);
        state = step8(state, word);
    }
    uint32_t rest = static_cast<uint32_t>(state);
    for (; at < bytes.size(); ++at)
        rest = step1(rest, std::to_integer<uint8_t>(bytes[at]));
    return ~rest;
}
#else
bool has_instruction() {
    return false;
}
uint32_t by_instruction(uint32_t crc, std::span<const std::byte> bytes) {
    return crc32c_by_table(crc, bytes);
}
#endif

}  // namespace

uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> bytes) {
    uint32_t state = ~crc;
    for (const std::byte byte : bytes) {
        state = (state >> 8) ^ kTable[(state ^ std::to_integer<uint32_t>(byte)) & 0xFF];
    }
    return ~state;
}

uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes) {
    static const bool instruction = has_instruction();
    return instruction ? by_instruction(crc, bytes) : crc32c_by_table(crc, bytes);
}

}  // namespace memsnap
