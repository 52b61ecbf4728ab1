// SPDX-License-Identifier: Apache-2.0
#include "code_generations.h"

#include "python_layout.h"

namespace memsnap::recorder {
namespace {

using Dealloc = void(void*);
std::atomic<Dealloc*> g_original{nullptr};

// The memory is used again only after the original has run, by whoever the interpreter's own locks let in.
void count_and_dealloc(void* code) {
    g_code_generations[generation_slot(reinterpret_cast<uintptr_t>(code))].fetch_add(
        1, std::memory_order_relaxed);
    g_code_deaths.fetch_add(1, std::memory_order_relaxed);
    return g_original.load(std::memory_order_relaxed)(code);
}

}  // namespace

std::atomic<uint32_t> g_code_generations[kGenerationSlots];
std::atomic<uint64_t> g_code_deaths{0};

void watch_code_objects(uintptr_t code_type) {
    auto* slot = reinterpret_cast<Dealloc**>(code_type + kTypeDealloc);
    if (*slot == count_and_dealloc) return;
    g_original.store(*slot, std::memory_order_release);
    std::atomic_ref<Dealloc*>(*slot).store(count_and_dealloc, std::memory_order_release);
}

}  // namespace memsnap::recorder
