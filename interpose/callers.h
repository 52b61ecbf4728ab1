// SPDX-License-Identifier: Apache-2.0
//
// Who calls, and where that caller's call really leads: a cache from return addresses to libraries and, for
// each library, to the originals of the hooked functions. The rule: two versions of a CUDA runtime may live
// in one process, so an original belongs to a calling library, never to the process. An index, once given,
// stands for the same library for ever, also in forked children; what was unloaded only stops matching.
#pragma once

#include <atomic>
#include <cstdint>

#include "elf_lookup.h"
#include "hooked_functions.h"
#include "process.h"

namespace memsnap::recorder {

struct CallerLibrary {
    std::atomic<uintptr_t> begin;  // claimed by compare and swap; 0: unused
    std::atomic<uintptr_t> end;    // stored last
    std::atomic<wire::LibraryRole> role;
    std::atomic<uint32_t> entry_point_count;  // driver entry points it was given as ours
    std::atomic<void*> originals[static_cast<uint32_t>(Function::count)];
    std::atomic<char> name[kNameCapacity_bytes];  // of the file, without its folder
};

// Index 0 stands for callers in no loaded object (generated code) and for those beyond the capacity.
extern CallerLibrary g_callers[kLibraryCapacity];
extern std::atomic<uint32_t> g_caller_count;

uint16_t add_caller(const LoadedObject& object);
// Whether it is the name of one of the functions that other libraries reach us by.
bool is_hooked(const char* name);
// Function::count: none of the listed ones.
Function function_named(const char* name);
void* resolve_original(uint16_t library, uintptr_t return_address, Function function);
// Writes the libraries that the file does not list yet into its library table.
void list_callers(Recorder& recorder);
// A driver entry point was handed to the library as our wrapper.
void count_entry_point(uint16_t library);
// To be called when objects may have been unloaded: others may come to lie where they were.
void retire_unloaded_callers();

inline uint16_t caller_index(const void* return_address) {
    auto address = reinterpret_cast<uintptr_t>(return_address);
    uint32_t count = g_caller_count.load(std::memory_order_acquire);
    for (uint32_t i = 1; i < count; ++i) {
        if (address < g_callers[i].end.load(std::memory_order_acquire) &&
            address >= g_callers[i].begin.load(std::memory_order_relaxed)) {
            return static_cast<uint16_t>(i);
        }
    }
    return add_caller(object_at(address));
}

// Null when the calling library reaches no such function.
inline void* original_of(uint16_t library, const void* return_address, Function function) {
    void* original =
        g_callers[library].originals[static_cast<uint32_t>(function)].load(std::memory_order_acquire);
    if (original != nullptr) [[likely]]
        return original;
    return resolve_original(library, reinterpret_cast<uintptr_t>(return_address), function);
}

inline bool is_torch_allocator(uint16_t library) {
    return g_callers[library].role.load(std::memory_order_relaxed) == wire::LibraryRole::torch_allocator;
}

}  // namespace memsnap::recorder
