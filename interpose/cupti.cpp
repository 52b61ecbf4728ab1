// SPDX-License-Identifier: Apache-2.0
#include "cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "asking.h"
#include "cupti_abi.h"
#include "elf_lookup.h"
#include "process.h"
#include "settings.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kFlushPeriod_ns = 1'000'000'000;
constexpr size_t kBuffer_bytes = 64 * 1024;  // about 500 records
constexpr size_t kBufferCount = 64;

// Untouched, and so no memory at all, unless CUPTI asks for them.
alignas(64) uint8_t g_buffers[kBufferCount][kBuffer_bytes];
std::atomic<bool> g_buffer_taken[kBufferCount];

cupti::Functions g_cupti;
// The process in which CUPTI runs, 0: none. A forked child inherits the word, but neither CUPTI's threads nor
// a usable CUDA.
std::atomic<pid_t> g_running_in{0};

// ---- callbacks, on threads of CUPTI or of the program

void lend_buffer(uint8_t** buffer, size_t* size_bytes, size_t* max_record_count) {
    *buffer = nullptr;  // CUPTI drops records then, and counts them
    *size_bytes = 0;
    *max_record_count = 0;
    for (size_t i = 0; i < kBufferCount; ++i) {
        if (g_buffer_taken[i].exchange(true, std::memory_order_acquire)) continue;
        *buffer = g_buffers[i];
        *size_bytes = kBuffer_bytes;
        return;
    }
}

void write_record(const cupti::MemoryActivity& activity) {
    if (activity.kind != cupti::kMemory2) return;
    if (activity.operation != cupti::kAllocation && activity.operation != cupti::kRelease) return;
    bool allocation = activity.operation == cupti::kAllocation;
    EventScope scope(allocation ? Start::if_needed : Start::never);
    Recorder* recorder = scope.recorder();
    if (recorder == nullptr) return;
    Event event;
    event.kind = wire::Kind::cupti_memory;
    event.thread = thread_index(*recorder);
    event.time = read_counter();
    event.address = activity.address;
    event.size = activity.bytes;
    event.link = activity.timestamp_ns;
    event.set_extra(activity.memory_kind, 0);
    if (activity.device <= INT8_MAX) event.device = static_cast<int8_t>(activity.device);
    event.code = allocation ? 1 : 2;
    recorder->ring.commit(event);
}

void take_buffer_back(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
    int saved_errno = errno;
    void* record = nullptr;
    while (g_cupti.next_record(buffer, valid_bytes, &record) == cupti::kSuccess) {
        write_record(*static_cast<const cupti::MemoryActivity*>(record));
    }
    auto offset_bytes = static_cast<size_t>(buffer - g_buffers[0]);
    g_buffer_taken[offset_bytes / kBuffer_bytes].store(false, std::memory_order_release);
    errno = saved_errno;
}

void ignore_callback(void*, int, uint32_t, const void*) {}

// ---- loading

using Dlopen = void*(const char*, int);
using Dlsym = void*(void*, const char*);

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
// From the folder of the runtime that the program loaded: wheels of CUDA 13, wheels of CUDA 12, toolkits.
constexpr const char* kFolders[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};

void* open_beside_runtime(Dlopen* open) {
    auto runtime = reinterpret_cast<uintptr_t>(find_symbol("cudaGetDeviceCount"));
    Path path;
    if (runtime == 0 || !path_of_object(object_at(runtime).begin, path)) return nullptr;
    auto folder_size = static_cast<size_t>(base_name(path.c_str()) - path.c_str());
    for (const char* folder : kFolders) {
        for (const char* name : kNames) {
            path.shorten(folder_size);
            path.add(folder);
            path.add(name);
            if (path.cut()) return nullptr;
            if (void* library = open(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        }
    }
    return nullptr;
}

// The copy that the program itself has loaded comes first: two in one process would be two owners of one
// slot.
void* open_library(Dlopen* open) {
    for (const char* name : kNames) {
        if (void* library = open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return library;
    }
    if (void* library = open_beside_runtime(open)) return library;
    for (const char* name : kNames) {
        if (void* library = open(name, RTLD_NOW | RTLD_LOCAL)) return library;
    }
    return nullptr;
}

template <typename Function>
bool find(Dlsym* symbol, void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(symbol(library, name));
    return function != nullptr;
}

bool find_functions(Dlsym* symbol, void* library) {
    return find(symbol, library, "cuptiSubscribe", g_cupti.subscribe) &&
           find(symbol, library, "cuptiUnsubscribe", g_cupti.unsubscribe) &&
           find(symbol, library, "cuptiActivityRegisterCallbacks", g_cupti.register_callbacks) &&
           find(symbol, library, "cuptiActivityEnable", g_cupti.enable) &&
           find(symbol, library, "cuptiActivityFlushAll", g_cupti.flush_all) &&
           find(symbol, library, "cuptiActivityGetNextRecord", g_cupti.next_record) &&
           find(symbol, library, "cuptiActivityGetNumDroppedRecords", g_cupti.dropped_count);
}

// ---- running

void flush(uint32_t flag) {
    size_t dropped_count = 0;
    g_cupti.flush_all(flag);
    if (g_cupti.dropped_count(nullptr, 0, &dropped_count) == cupti::kSuccess && dropped_count != 0) {
        g_process.cupti_trouble.store("CUPTI dropped memory records", std::memory_order_release);
    }
}

// Registered after CUPTI was loaded, so it runs before CUPTI's own end.
void flush_at_exit() {
    if (g_running_in.load(std::memory_order_acquire) != getpid()) return;
    stop_asking();
    flush(cupti::kFlushForced);
}

// What keeps CUPTI from running; null when it runs.
const char* start_cupti() {
    auto* open = reinterpret_cast<Dlopen*>(find_symbol("dlopen"));
    auto* symbol = reinterpret_cast<Dlsym*>(find_symbol("dlsym"));
    void* library = open == nullptr || symbol == nullptr ? nullptr : open_library(open);
    if (library == nullptr) return "no CUPTI library can be loaded";
    if (!find_functions(symbol, library)) return "the CUPTI library lacks what is needed";
    void* subscriber = nullptr;
    int result = g_cupti.subscribe(&subscriber, ignore_callback, nullptr);
    if (result == cupti::kMultipleSubscribers) return "another tool uses CUPTI";
    if (result != cupti::kSuccess) return "CUPTI refuses";
    if (g_cupti.register_callbacks(lend_buffer, take_buffer_back) != cupti::kSuccess ||
        g_cupti.enable(cupti::kMemory2) != cupti::kSuccess) {
        g_cupti.unsubscribe(subscriber);
        return "CUPTI refuses";
    }
    g_running_in.store(getpid(), std::memory_order_release);
    atexit(flush_at_exit);
    return nullptr;
}

}  // namespace

void tend_cupti() {
    uint64_t now_ns = read_monotonic_ns();
    if (now_ns - g_process.cupti_tended_ns < kFlushPeriod_ns) return;
    bool running = g_running_in.load(std::memory_order_relaxed) == getpid();
    if (!running && g_process.cupti_tried) return;
    if (!begin_asking()) return;
    if (running) {
        flush(0);
    } else {
        g_process.cupti_tried = true;
        g_process.cupti_trouble.store(start_cupti(), std::memory_order_release);
    }
    end_asking();
    g_process.cupti_tended_ns = now_ns;
}

}  // namespace memsnap::recorder
