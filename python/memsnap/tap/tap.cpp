// SPDX-License-Identifier: Apache-2.0
//
// Hands the caching allocator's own trace to the memsnap recorder. Compiled by `memsnap tap build` on the
// user's machine against the very PyTorch that it is loaded into. The rules of the callback, which runs under
// a device's allocator lock: no allocation, no lock, no exception, nothing of Python's. What belongs to a
// device is touched under that device's lock alone.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "live_ranges.h"

static_assert(TORCH_VERSION_MAJOR == MEMSNAP_TAP_MAJOR && TORCH_VERSION_MINOR == MEMSNAP_TAP_MINOR,
              "these headers are of another PyTorch than the one that is imported");

namespace {

namespace torch_allocator = c10::cuda::CUDACachingAllocator;
using torch_allocator::TraceEntry;

// ---- the recorder's side (interpose/api.h, interpose/WIRE.md)

using TellTap = void(uint32_t kind, int32_t device, uint64_t address, uint64_t size_bytes, uint64_t link,
                     uint64_t stream, uint32_t pool, uint32_t code);
using MayRepeat = int(uint32_t record_count);
constexpr uint32_t kAlloc = 64, kFreeRequested = 65, kFreeCompleted = 66, kSegmentAlloc = 67,
                   kSegmentFree = 68, kSegmentMap = 69, kSegmentUnmap = 70, kOom = 71;
constexpr uint32_t kToldAgain = 1;
constexpr uint16_t kPoolUnknown = 65535;
constexpr uint64_t kRequestedUnknown = ~uint64_t{0};

TellTap* g_tell = nullptr;
MayRepeat* g_may_repeat = nullptr;

// ---- what is known of each device

constexpr uint32_t kDeviceCapacity = 32;
constexpr uint64_t kReady = 1;
constexpr uint64_t kOneEvent = 2;

struct Device {
    // Events that the allocator traced, times two, plus one when the rest is complete. Whoever looks at the
    // allocator and finds the same word before and after saw a state that no event changed meanwhile.
    std::atomic<uint64_t> events;
    uint64_t requested_bytes;  // of the live blocks
    uint64_t last_told_ns;
    memsnap_tap::LiveRanges segments;
};

Device* g_devices = nullptr;

// ---- one entry of the trace

// PyTorch's pair as one number.
uint16_t pool_number(uint64_t first, uint64_t second) {
    constexpr uint64_t kHalf = 32768;
    if (second == 0 && first < kHalf) return static_cast<uint16_t>(first);
    if (first == 0 && second < kHalf - 1) return static_cast<uint16_t>(kHalf + second);
    return kPoolUnknown;
}

// Releases before 2.9 do not tell it.
template <typename Entry>
uint16_t pool_of(const Entry& entry) {
    if constexpr (requires { entry.mempool_.first; }) {
        return pool_number(entry.mempool_.first, entry.mempool_.second);
    } else {
        return kPoolUnknown;
    }
}

// At most once a second: a program that tries sizes fails hundreds of times in one. Not at all where the
// ring is too small for them.
void tell_again(Device& device, int32_t index) {
    constexpr uint64_t kSecond_ns = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns =
        static_cast<uint64_t>(now.tv_sec) * kSecond_ns + static_cast<uint64_t>(now.tv_nsec);
    if (device.segments.overflowed() ||
        (device.last_told_ns != 0 && now_ns - device.last_told_ns < kSecond_ns) ||
        g_may_repeat(device.segments.count()) == 0)
        return;
    device.last_told_ns = now_ns;
    for (const memsnap_tap::Range& range : device.segments) {
        g_tell(range.mapped ? kSegmentMap : kSegmentAlloc, index, range.address, range.size_bytes, 0,
               range.stream, range.pool, kToldAgain);
    }
}

uint32_t kind_of(TraceEntry::Action action) {
    switch (action) {
        case TraceEntry::ALLOC:
            return kAlloc;
        case TraceEntry::FREE_REQUESTED:
            return kFreeRequested;
        case TraceEntry::FREE_COMPLETED:
            return kFreeCompleted;
        case TraceEntry::SEGMENT_ALLOC:
            return kSegmentAlloc;
        case TraceEntry::SEGMENT_FREE:
            return kSegmentFree;
        case TraceEntry::SEGMENT_MAP:
            return kSegmentMap;
        case TraceEntry::SEGMENT_UNMAP:
            return kSegmentUnmap;
        case TraceEntry::OOM:
            return kOom;
        default:
            return 0;  // snapshots, annotations, and what later releases add
    }
}

void on_trace(const TraceEntry& entry) {
    const uint32_t kind = kind_of(entry.action_);
    const auto index = static_cast<uint32_t>(entry.device_);
    if (kind == 0 || index >= kDeviceCapacity) return;
    Device& device = g_devices[index];
    const bool ready = (device.events.fetch_add(kOneEvent, std::memory_order_acq_rel) & kReady) != 0;
    const uint64_t address = entry.addr_;
    const uint64_t size_bytes = entry.size_;
    const auto stream = reinterpret_cast<uint64_t>(entry.stream_);
    const uint16_t pool = pool_of(entry);
    const auto told_index = static_cast<int32_t>(index);
    if (kind == kOom) {
        if (ready) tell_again(device, told_index);
        g_tell(kind, told_index, ready ? device.requested_bytes : kRequestedUnknown, size_bytes, address,
               stream, pool, 0);
        return;
    }
    g_tell(kind, told_index, address, size_bytes, 0, stream, pool, 0);
    if (!ready) return;
    if (kind == kAlloc) device.requested_bytes += size_bytes;
    if (kind == kFreeRequested) device.requested_bytes -= size_bytes;
    if (kind == kSegmentAlloc || kind == kSegmentMap)
        device.segments.add({address, size_bytes, stream, pool, kind == kSegmentMap});
    if (kind == kSegmentFree || kind == kSegmentUnmap) device.segments.take_away(address, size_bytes);
}

// ---- attaching

bool is_complete(const Device& device) {
    return (device.events.load(std::memory_order_acquire) & kReady) != 0;
}

bool is_untouched(int index) {
    const auto stats = torch_allocator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
    return stats.reserved_bytes[0].current == 0 && stats.allocated_bytes[0].current == 0;
}

template <typename Allocator>
auto look_at_memory(Allocator* allocator) {
    if constexpr (requires { allocator->snapshot({0, 0}, false); }) {
        return allocator->snapshot({0, 0}, false);
    } else {
        return allocator->snapshot();
    }
}

// Of the devices that are not complete.
void take_over(int device_count) {
    for (const auto& segment : look_at_memory(torch_allocator::get()).segments) {
        const int index = static_cast<int>(segment.device);
        if (index < 0 || index >= device_count) continue;
        Device& device = g_devices[index];
        if (is_complete(device)) continue;
        const auto [first, second] = segment.owner_private_pool_id;
        device.segments.add({segment.address, segment.total_size, reinterpret_cast<uint64_t>(segment.stream),
                             pool_number(first, second), segment.is_expandable});
        for (const auto& block : segment.blocks) {
            if (block.allocated) device.requested_bytes += block.requested_size;
        }
    }
}

// A device that other threads keep busy all the time stays incomplete: its sums and old segments are not
// told. Few tries: a look at the allocator locks each device in turn, and the program's own history, where it
// is on, gets an entry of it.
void complete_all(int device_count) {
    constexpr int kTries = 5;
    uint64_t events_before[kDeviceCapacity] = {};
    for (int i = 0; i < kTries; ++i) {
        bool any_touched = false;
        for (int index = 0; index < device_count; ++index) {
            Device& device = g_devices[index];
            if (is_complete(device)) continue;
            events_before[index] = device.events.load(std::memory_order_acquire);
            device.requested_bytes = 0;
            device.segments.clear();
            any_touched = !is_untouched(index) || any_touched;
        }
        if (any_touched) take_over(device_count);
        bool all_complete = true;
        for (int index = 0; index < device_count; ++index) {
            Device& device = g_devices[index];
            if (is_complete(device)) continue;
            uint64_t& before = events_before[index];
            all_complete =
                device.events.compare_exchange_strong(before, before | kReady, std::memory_order_acq_rel) &&
                all_complete;
        }
        if (all_complete) return;
    }
}

// False: no memory.
bool prepare() {
    if (g_devices != nullptr) return true;
    constexpr size_t kBytes = sizeof(Device) * kDeviceCapacity;
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    g_devices = static_cast<Device*>(memory);  // zeroed; a page is there once it is written
    return true;
}

int refuse(char* message, size_t message_bytes, const char* reason) {
    std::snprintf(message, message_bytes, "%s", reason);
    return 1;
}

}  // namespace

#define MEMSNAP_TAP_EXPORT extern "C" __attribute__((visibility("default")))

// What it was compiled for; compared before anything else of it runs.
MEMSNAP_TAP_EXPORT const char memsnap_tap_key[] = MEMSNAP_TAP_KEY;

// 0: attached. CUDA is initialised, and nothing else attaches meanwhile.
MEMSNAP_TAP_EXPORT int memsnap_tap_attach(char* message, size_t message_bytes) noexcept {
    static bool attached = false;
    if (attached) return 0;
    g_tell = reinterpret_cast<TellTap*>(dlsym(RTLD_DEFAULT, "memsnap1_tap"));
    g_may_repeat = reinterpret_cast<MayRepeat*>(dlsym(RTLD_DEFAULT, "memsnap1_tap_may_repeat"));
    if (g_tell == nullptr || g_may_repeat == nullptr)
        return refuse(message, message_bytes,
                      "the recorder in this process is of another version than the tap: install both anew");
    if (!prepare()) return refuse(message, message_bytes, "no memory");
    try {
        torch_allocator::get()->attachAllocatorTraceTracker(on_trace);
        attached = true;
    } catch (const std::exception& error) {
        return refuse(message, message_bytes, error.what());
    } catch (...) {
        return refuse(message, message_bytes, "the allocator takes no tap");
    }
    try {
        complete_all(std::min<int>(c10::cuda::device_count(), kDeviceCapacity));
    } catch (...) {
        // The devices that are left stay incomplete.
    }
    return 0;
}
