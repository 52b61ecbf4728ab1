// SPDX-License-Identifier: Apache-2.0
#include "callers.h"

#include "elf_lookup.h"

namespace memsnap::recorder {
namespace {

constexpr const char* kFunctionNames[] = {
#define MEMSNAP_NAME(name) #name,
    MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_NAME) MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_NAME)
#undef MEMSNAP_NAME
};

wire::LibraryRole role_of(const char* base_name) {
    static const struct {
        const char* prefix;
        wire::LibraryRole role;
    } kRoles[] = {
        {"libc10_cuda", wire::LibraryRole::torch_allocator},
        {"libc10", wire::LibraryRole::torch},
        {"libtorch", wire::LibraryRole::torch},
        {"libcudart", wire::LibraryRole::cuda_runtime},
        {"libcuda.so", wire::LibraryRole::cuda_driver},
    };
    if (base_name[0] == '\0') return wire::LibraryRole::program;
    for (const auto& known : kRoles) {
        if (starts_with(base_name, known.prefix)) return known.role;
    }
    return wire::LibraryRole::unknown;
}

}  // namespace

CallerLibrary g_callers[kLibraryCapacity];
std::atomic<uint32_t> g_caller_count{1};

uint16_t add_caller(uintptr_t return_address) {
    LoadedObject object = object_at(return_address);
    if (object.begin == 0) return 0;
    for (uint32_t i = 1; i < kLibraryCapacity; ++i) {
        CallerLibrary& library = g_callers[i];
        uintptr_t begin = 0;
        if (!library.begin.compare_exchange_strong(begin, object.begin) && begin != object.begin) continue;
        // Two threads that add the same library write the same facts.
        library.role.store(role_of(object.base_name), std::memory_order_relaxed);
        library.end.store(object.end, std::memory_order_release);
        uint32_t count = g_caller_count.load(std::memory_order_relaxed);
        while (count <= i && !g_caller_count.compare_exchange_weak(count, i + 1, std::memory_order_release)) {
        }
        return static_cast<uint16_t>(i);
    }
    return 0;
}

void* resolve_original(uint16_t library, uintptr_t return_address, Function function) {
    auto number = static_cast<uint32_t>(function);
    void* original = find_original(library == 0 ? 0 : return_address, kFunctionNames[number]);
    if (original != nullptr) g_callers[library].originals[number].store(original, std::memory_order_release);
    return original;
}

void list_callers(Recorder& recorder) {
    uint32_t count = g_caller_count.load(std::memory_order_acquire);
    for (uint32_t i = 1; i < count; ++i) {
        auto* role = reinterpret_cast<uint8_t*>(&recorder.libraries[i].role);
        std::atomic_ref<uint8_t>(*role).store(static_cast<uint8_t>(g_callers[i].role.load()),
                                              std::memory_order_relaxed);
    }
    std::atomic_ref<uint32_t> listed(recorder.header->library_count);
    uint32_t previous = listed.load(std::memory_order_relaxed);
    while (previous < count && !listed.compare_exchange_weak(previous, count)) {
    }
}

}  // namespace memsnap::recorder
