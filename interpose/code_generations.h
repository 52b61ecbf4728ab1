// SPDX-License-Identifier: Apache-2.0
//
// How often code objects have died at an address. Python frees code objects and uses their memory again, as
// each cell of a notebook does; an address alone would stand for many functions. The rule: what watches them
// die is put in place once, before any frame is told by its code, and is never taken away again.
#pragma once

#include <atomic>
#include <cstdint>

namespace memsnap::recorder {

inline constexpr uint32_t kGenerationSlots = 65536;
extern std::atomic<uint32_t> g_code_generations[kGenerationSlots];
extern std::atomic<uint64_t> g_code_deaths;

// Addresses share a generation: then one function may have two, but never two functions one.
inline uint32_t generation_slot(uintptr_t code) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    return static_cast<uint32_t>((code >> 4) * kGolden >> 48);
}
inline uint32_t code_generation(uintptr_t code) {
    return g_code_generations[generation_slot(code)].load(std::memory_order_relaxed);
}

// How many have died at all: while it stays, so does every generation.
inline uint64_t code_deaths() {
    return g_code_deaths.load(std::memory_order_relaxed);
}

// `code_type` is the interpreter's PyCode_Type. The caller holds the GIL.
void watch_code_objects(uintptr_t code_type);

}  // namespace memsnap::recorder
