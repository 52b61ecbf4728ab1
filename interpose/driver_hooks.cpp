// SPDX-License-Identifier: Apache-2.0
#include "driver_hooks.h"

#include "device.h"
#include "driver_entries.h"
#include "elf_lookup.h"
#include "real_dlsym.h"
#include "unwrapped.h"

namespace memsnap::recorder {
namespace {

constexpr const char* kNames[kEntryCount] = {
#define MEMSNAP_NAME(name) #name,
    MEMSNAP_DRIVER_ENTRIES(MEMSNAP_NAME)
#undef MEMSNAP_NAME
};

using Wrapper = void*();
constexpr Wrapper* kWrappers[kEntryCount] = {
#define MEMSNAP_WRAPPER(name) wrapper_of_##name,
    MEMSNAP_DRIVER_ENTRIES(MEMSNAP_WRAPPER)
#undef MEMSNAP_WRAPPER
};

std::atomic<bool> g_learned{false};

}  // namespace

std::atomic<void*> g_driver_originals[kEntryCount];

bool is_wrapped(const char* name) {
    return wrapper_named(name) != nullptr;
}

void* wrapper_named(const char* name) {
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        if (equal(kNames[i], name)) return kWrappers[i]();
    }
    return nullptr;
}

const char* name_of_entry_point(const void* address) {
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        if (g_driver_originals[i].load(std::memory_order_acquire) == address) return kNames[i];
    }
    return nullptr;
}

EntryPoints known_entry_points() {
    EntryPoints known;
    for (const std::atomic<void*>& original : g_driver_originals) {
        auto address = reinterpret_cast<uintptr_t>(original.load(std::memory_order_acquire));
        if (address == 0) continue;
        if (known.first == 0 || address < known.first) known.first = address;
        if (address > known.last) known.last = address;
    }
    return known;
}

// Threads that come here at once all look everything up: none may hand out an original before it is known,
// and none may wait for another that may be waiting for the dynamic linker's lock.
void learn_driver(void* handle) {
    if (g_learned.load(std::memory_order_acquire)) return;
    DlsymFunction* real = real_dlsym();
    learn_questions(real, handle);
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        void* unknown = nullptr;
        g_driver_originals[i].compare_exchange_strong(unknown, real(handle, kNames[i]));
    }
    g_learned.store(true, std::memory_order_release);
    // The program's own lookup succeeded; an entry point that an old driver lacks must not look like its
    // error.
    using Dlerror = char*();
    if (auto* clear = reinterpret_cast<Dlerror*>(find_symbol("dlerror"))) clear();
}

void* hand_out(const char* name, void* entry_point, const void* return_address) {
    if (entry_point == nullptr) return nullptr;
    uint16_t library = caller_index(return_address);
    for (uint32_t i = 0; i < kEntryCount; ++i) {
        if (g_driver_originals[i].load(std::memory_order_acquire) != entry_point) continue;
        count_entry_point(library);
        return kWrappers[i]();
    }
    note_unwrapped(name, library);
    return entry_point;
}

}  // namespace memsnap::recorder
