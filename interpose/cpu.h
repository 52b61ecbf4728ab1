// SPDX-License-Identifier: Apache-2.0
//
// Everything that differs between processors: the raw time counter, CRC32C, waiting, the registers of a
// frame. The rule: the counter is read without a system call, the check is the same number on every
// processor, and whether an instruction exists is asked at run time, since one build serves many machines.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "wire.h"

namespace memsnap::recorder {

// Decides once, before the first event of the process, which counter and which CRC32C are used.
void choose_cpu_features();

extern wire::ClockSource g_clock_source;

uint64_t read_monotonic_ns();

// The time of an event, in ticks of g_clock_source.
inline uint64_t read_counter() {
#if defined(__x86_64__)
    if (g_clock_source == wire::ClockSource::x86_tsc) [[likely]]
        return __builtin_ia32_rdtsc();
#else
    if (g_clock_source == wire::ClockSource::arm_cntvct) [[likely]] {
        uint64_t ticks;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return read_monotonic_ns();
}

// Between two looks at a word that another thread will change soon.
inline void pause_processor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
}

// How libunwind calls this processor's registers and its own functions for it. Rules of frames are known
// where a call leaves the return address in memory, right below the caller's frame; elsewhere all is null.
struct Unwinding {
    int frame_pointer, stack_pointer, instruction;
    const char *init, *step, *get_register, *find_saved, *flush, *address_space;
};
extern const Unwinding kUnwinding;

// Makes up the registers of a frame. Returns where its frame pointer is kept.
const uint64_t* make_frame(ucontext_t& context, uint64_t instruction, uint64_t stack, uint64_t frame_pointer);

// `words` are the eight words of a wire::Record: covers seq and bytes 12..63.
uint32_t record_check(const uint64_t words[8]);
// `words` are the eight words of a wire::LiveEntry: covers bytes 8..59.
uint32_t entry_check(const uint64_t words[8]);
// `words` are the eight words of a wire::Boundary: covers bytes 8..31, then 36..63.
uint32_t boundary_check(const uint64_t words[8]);

// The two ways to compute the check; the functions above use the first where the processor has it.
bool has_crc_instruction();
uint32_t crc32c_instruction(uint32_t state, uint64_t value, unsigned byte_count);
uint32_t crc32c_table(uint32_t state, uint64_t value, unsigned byte_count);

}  // namespace memsnap::recorder
