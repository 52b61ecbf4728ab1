// SPDX-License-Identifier: Apache-2.0
#include "cpu.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#define MEMSNAP_CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#define MEMSNAP_CRC_TARGET __attribute__((target("+crc")))
#else
#error "memsnap records on x86-64 and aarch64"
#endif

namespace memsnap::recorder {
namespace {

constexpr uint32_t kCastagnoli = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kCastagnoli : 0);
        }
        table[byte] = remainder;
    }
    return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

bool g_crc_instruction = false;

#if defined(__x86_64__)
bool crc_instruction_present() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_SSE4_2) != 0;
}

// The counter counts time only where it is invariant and the kernel itself trusts it.
wire::ClockSource pick_clock() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kInvariantBit = 1U << 8;
    if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx & kInvariantBit) == 0) {
        return wire::ClockSource::monotonic_ns;
    }
    char name[4] = {};
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (file < 0) return wire::ClockSource::monotonic_ns;
    ssize_t size = read(file, name, sizeof name);
    close(file);
    bool trusted = size == 4 && name[0] == 't' && name[1] == 's' && name[2] == 'c' && name[3] == '\n';
    return trusted ? wire::ClockSource::x86_tsc : wire::ClockSource::monotonic_ns;
}
#else
bool crc_instruction_present() {
    constexpr unsigned long kHwcapCrc32 = 1UL << 7;
    return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

wire::ClockSource pick_clock() {
    return wire::ClockSource::arm_cntvct;
}
#endif

MEMSNAP_CRC_TARGET inline uint32_t step8(uint32_t state, uint64_t value) {
#if defined(__x86_64__)
    return static_cast<uint32_t>(_mm_crc32_u64(state, value));
#else
    return __crc32cd(state, value);
#endif
}

MEMSNAP_CRC_TARGET inline uint32_t step4(uint32_t state, uint32_t value) {
#if defined(__x86_64__)
    return _mm_crc32_u32(state, value);
#else
    return __crc32cw(state, value);
#endif
}

MEMSNAP_CRC_TARGET uint32_t record_check_instruction(const uint64_t words[8]) {
    uint32_t state = step8(~0U, words[0]);
    state = step4(state, static_cast<uint32_t>(words[1] >> 32));
    for (int word = 2; word < 8; ++word) {
        state = step8(state, words[word]);
    }
    return ~state;
}

MEMSNAP_CRC_TARGET uint32_t entry_check_instruction(const uint64_t words[8]) {
    uint32_t state = ~0U;
    for (int word = 1; word < 7; ++word) {
        state = step8(state, words[word]);
    }
    return ~step4(state, static_cast<uint32_t>(words[7]));
}

MEMSNAP_CRC_TARGET uint32_t boundary_check_instruction(const uint64_t words[8]) {
    uint32_t state = ~0U;
    for (int word = 1; word < 8; ++word) {
        state = word == 4 ? step4(state, static_cast<uint32_t>(words[4] >> 32)) : step8(state, words[word]);
    }
    return ~state;
}

}  // namespace

wire::ClockSource g_clock_source = wire::ClockSource::monotonic_ns;

uint64_t read_monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)
const Unwinding kUnwinding = {
    .frame_pointer = 6,
    .stack_pointer = 7,
    .instruction = 16,
    .init = "_ULx86_64_init_local",
    .step = "_ULx86_64_step",
    .get_register = "_ULx86_64_get_reg",
    .find_saved = "_ULx86_64_get_save_loc",
    .flush = "_Ux86_64_flush_cache",
    .address_space = "_ULx86_64_local_addr_space",
};

const uint64_t* make_frame(ucontext_t& context, uint64_t instruction, uint64_t stack,
                           uint64_t frame_pointer) {
    auto* registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(instruction);
    registers[REG_RSP] = static_cast<greg_t>(stack);
    registers[REG_RBP] = static_cast<greg_t>(frame_pointer);
    return reinterpret_cast<const uint64_t*>(&registers[REG_RBP]);
}
#else
const Unwinding kUnwinding = {};

const uint64_t* make_frame(ucontext_t&, uint64_t, uint64_t, uint64_t) {
    return nullptr;
}
#endif

void choose_cpu_features() {
    g_crc_instruction = crc_instruction_present();
    g_clock_source = pick_clock();
}

bool has_crc_instruction() {
    return crc_instruction_present();
}

MEMSNAP_CRC_TARGET uint32_t crc32c_instruction(uint32_t state, uint64_t value, unsigned byte_count) {
    return byte_count == 8 ? step8(state, value) : step4(state, static_cast<uint32_t>(value));
}

uint32_t crc32c_table(uint32_t state, uint64_t value, unsigned byte_count) {
    for (unsigned byte = 0; byte < byte_count; ++byte) {
        state = (state >> 8) ^ kTable[(state ^ (value >> (8 * byte))) & 0xff];
    }
    return state;
}

uint32_t record_check(const uint64_t words[8]) {
    if (g_crc_instruction) return record_check_instruction(words);
    uint32_t state = crc32c_table(~0U, words[0], 8);
    state = crc32c_table(state, words[1] >> 32, 4);
    for (int word = 2; word < 8; ++word) {
        state = crc32c_table(state, words[word], 8);
    }
    return ~state;
}

uint32_t entry_check(const uint64_t words[8]) {
    if (g_crc_instruction) return entry_check_instruction(words);
    uint32_t state = ~0U;
    for (int word = 1; word < 7; ++word) {
        state = crc32c_table(state, words[word], 8);
    }
    return ~crc32c_table(state, words[7], 4);
}

uint32_t boundary_check(const uint64_t words[8]) {
    if (g_crc_instruction) return boundary_check_instruction(words);
    uint32_t state = ~0U;
    for (int word = 1; word < 8; ++word) {
        state = word == 4 ? crc32c_table(state, words[4] >> 32, 4) : crc32c_table(state, words[word], 8);
    }
    return ~state;
}

}  // namespace memsnap::recorder
