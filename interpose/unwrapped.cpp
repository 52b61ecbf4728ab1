// SPDX-License-Identifier: Apache-2.0
#include "unwrapped.h"

#include <string.h>

#include <atomic>

#include "blind.h"

namespace memsnap::recorder {
namespace {

constexpr const char* kFamilies[] = {
    "cuMem", "cuArray",  "cuMipmappedArray", "cuMulticast",
    "cuIpc", "cuImport", "cuExternalMemory", "cuGraphAddMem",
};
constexpr const char* kDeeds[] = {"Alloc", "Create", "Map", "Import", "Open", "Reserve"};

// They answer questions, or open what holds no device memory.
constexpr const char* kHarmless[] = {
    "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuIpcOpenEventHandle",
    "cuImportExternalSemaphore",
};

// A name as its hash: zero is nobody's.
struct Noted {
    std::atomic<uint64_t> name;
    std::atomic<uint32_t> library;
};
constexpr uint32_t kCapacity = 64;
Noted g_noted[kCapacity];

}  // namespace

bool may_take_memory(const char* name) {
    for (const char* harmless : kHarmless) {
        if (equal(name, harmless)) return false;
    }
    for (const char* family : kFamilies) {
        if (!starts_with(name, family)) continue;
        for (const char* deed : kDeeds) {
            if (strstr(name, deed) != nullptr) return true;
        }
    }
    return false;
}

void note_unwrapped(const char* name, uint16_t library) {
    if (!may_take_memory(name)) return;
    const uint64_t hash = fnv1a(name) | 1;
    for (Noted& noted : g_noted) {
        uint64_t before = 0;
        if (noted.name.compare_exchange_strong(before, hash)) {
            noted.library.store(library + 1u, std::memory_order_release);
            return;
        }
        if (before == hash) return;
    }
}

uint32_t record_unwrapped(Recorder& recorder, uint32_t recorded) {
    for (; recorded < kCapacity; ++recorded) {
        uint32_t library = g_noted[recorded].library.load(std::memory_order_acquire);
        if (library == 0) break;  // unused, or not finished: next time
        record_blind(recorder, wire::Blind::unknown_entry_point, wire::Op::none,
                     static_cast<uint16_t>(library - 1));
    }
    return recorded;
}

}  // namespace memsnap::recorder
