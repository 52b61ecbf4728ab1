// SPDX-License-Identifier: Apache-2.0
#include "callers.h"

#include <sys/auxv.h>

#include "names.h"
#include "slot_table.h"

namespace memsnap::recorder {
namespace {

constexpr const char* kFunctionNames[] = {
#define MEMSNAP_NAME(name) #name,
    MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_NAME) MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_NAME)
        MEMSNAP_LOOKUP_FUNCTIONS(MEMSNAP_NAME)
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

// The begin of a library that was unloaded: no address lies behind it.
constexpr uintptr_t kRetired = ~uintptr_t{0};

// The program itself has no name for the dynamic linker; the kernel keeps what it was started as.
const char* name_of(const LoadedObject& object) {
    if (object.base_name[0] != '\0') return object.base_name;
    const auto* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return started_as == nullptr ? "" : base_name(started_as);
}

bool has_name(const CallerLibrary& library, const char* name) {
    for (size_t i = 0; i < kNameCapacity_bytes; ++i) {
        if (library.name[i].load(std::memory_order_relaxed) != name[i]) return false;
        if (name[i] == '\0') return true;
    }
    return false;
}

// Two threads that add the same library write the same facts.
void describe(CallerLibrary& library, const LoadedObject& object) {
    const char* name = name_of(object);
    for (size_t i = 0; name[i] != '\0' && i + 1 < kNameCapacity_bytes; ++i) {
        library.name[i].store(name[i], std::memory_order_relaxed);
    }
    library.role.store(role_of(object.base_name), std::memory_order_relaxed);
    library.end.store(object.end, std::memory_order_release);
}

// An unused place, the one that is this object's already, or the one it had before it was unloaded: a plugin
// that is loaded again and again is one library.
bool claim(CallerLibrary& library, const LoadedObject& object) {
    uintptr_t begin = 0;
    if (library.begin.compare_exchange_strong(begin, object.begin)) return true;
    if (begin == kRetired && has_name(library, name_of(object)) &&
        library.begin.compare_exchange_strong(begin, object.begin)) {
        return true;
    }
    return begin == object.begin;
}

// The id is claimed first, lest two threads enter one text twice.
void name_library(Recorder& recorder, uint32_t index) {
    if (g_callers[index].end.load(std::memory_order_acquire) == 0) return;  // being described just now
    std::atomic_ref<uint64_t> id(recorder.libraries[index].name);
    uint64_t unnamed = 0;
    if (recorder.names == nullptr || !id.compare_exchange_strong(unnamed, index)) return;
    char name[kNameCapacity_bytes];
    size_t size = 0;
    for (; size < kNameCapacity_bytes; ++size) {
        name[size] = g_callers[index].name[size].load(std::memory_order_relaxed);
        if (name[size] == '\0') break;
    }
    intern(recorder, wire::NameKind::library, index, name, size);
}

void write_entry_points(Recorder& recorder, uint32_t index) {
    uint32_t counted = g_callers[index].entry_point_count.load(std::memory_order_relaxed);
    auto count = static_cast<uint16_t>(counted > UINT16_MAX ? UINT16_MAX : counted);
    std::atomic_ref<uint16_t> written(recorder.libraries[index].entry_point_count);
    uint16_t before = written.load(std::memory_order_relaxed);
    while (before < count && !written.compare_exchange_weak(before, count)) {
    }
}

bool is_loaded(const CallerLibrary& library, uintptr_t begin) {
    LoadedObject object = object_at(begin);
    return object.begin == begin && has_name(library, name_of(object));
}

}  // namespace

CallerLibrary g_callers[kLibraryCapacity];
std::atomic<uint32_t> g_caller_count{1};

uint16_t add_caller(const LoadedObject& object) {
    if (object.begin == 0) return 0;
    for (uint32_t i = 1; i < kLibraryCapacity; ++i) {
        CallerLibrary& library = g_callers[i];
        if (!claim(library, object)) continue;
        describe(library, object);
        uint32_t count = g_caller_count.load(std::memory_order_relaxed);
        while (count <= i && !g_caller_count.compare_exchange_weak(count, i + 1, std::memory_order_release)) {
        }
        return static_cast<uint16_t>(i);
    }
    return 0;
}

bool is_hooked(const char* name) {
    return static_cast<uint32_t>(function_named(name)) < kExportedFunctionCount;
}

Function function_named(const char* name) {
    uint32_t number = 0;
    while (number < static_cast<uint32_t>(Function::count) && !equal(kFunctionNames[number], name)) {
        ++number;
    }
    return static_cast<Function>(number);
}

void* resolve_original(uint16_t library, uintptr_t return_address, Function function) {
    auto number = static_cast<uint32_t>(function);
    void* original = original_behind_slot(return_address, function);
    if (original == nullptr)
        original = find_original(library == 0 ? 0 : return_address, kFunctionNames[number]);
    if (original != nullptr) g_callers[library].originals[number].store(original, std::memory_order_release);
    return original;
}

void list_callers(Recorder& recorder) {
    uint32_t count = g_caller_count.load(std::memory_order_acquire);
    for (uint32_t i = 1; i < count; ++i) {
        auto* role = reinterpret_cast<uint8_t*>(&recorder.libraries[i].role);
        std::atomic_ref<uint8_t>(*role).store(static_cast<uint8_t>(g_callers[i].role.load()),
                                              std::memory_order_relaxed);
        write_entry_points(recorder, i);
        name_library(recorder, i);
    }
    std::atomic_ref<uint32_t> listed(recorder.header->library_count);
    uint32_t previous = listed.load(std::memory_order_relaxed);
    while (previous < count && !listed.compare_exchange_weak(previous, count)) {
    }
}

void count_entry_point(uint16_t library) {
    if (library == 0) return;
    g_callers[library].entry_point_count.fetch_add(1, std::memory_order_relaxed);
    Recorder* recorder = current_recorder();
    if (recorder == nullptr) return;  // listed with the first event
    if (library >=
        std::atomic_ref<uint32_t>(recorder->header->library_count).load(std::memory_order_relaxed)) {
        list_callers(*recorder);
    } else {
        write_entry_points(*recorder, library);
    }
}

void retire_unloaded_callers() {
    uint32_t count = g_caller_count.load(std::memory_order_acquire);
    bool any = false;
    for (uint32_t i = 1; i < count; ++i) {
        CallerLibrary& library = g_callers[i];
        uintptr_t begin = library.begin.load(std::memory_order_relaxed);
        if (begin == kRetired || is_loaded(library, begin)) continue;
        library.end.store(0, std::memory_order_release);
        library.begin.store(kRetired, std::memory_order_release);
        any = true;
    }
    // An original may lie in what was unloaded, whoever the caller is: the next call finds it anew.
    for (uint32_t i = 0; any && i < count; ++i) {
        for (std::atomic<void*>& original : g_callers[i].originals) {
            original.store(nullptr, std::memory_order_release);
        }
    }
}

}  // namespace memsnap::recorder
