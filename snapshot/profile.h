// SPDX-License-Identifier: Apache-2.0
//
// What a trace of PyTorch's profiler tells of device memory, as plain tables. The rule: only what an event
// itself carries; nothing is joined to it by time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot.h"

namespace memsnap::snapshot {

inline constexpr int kMostDevices = 32;                                    // as in a ring
inline constexpr uint64_t kTotals_bytes_most = (uint64_t{1} << 49) - 512;  // what a record has room for
inline constexpr size_t kRanges_count_most = size_t{1} << 20;

struct ProfileEvent {
    enum class Kind : uint8_t {
        block,  // born, or freed where `bytes` is negative
        oom     // `bytes`: the request, 0 where nobody told it
    };
    uint64_t address = 0;
    int64_t bytes = 0;
    uint64_t allocated_bytes = 0;  // totals of the device after the event
    uint64_t reserved_bytes = 0;
    int64_t time_ns = 0;  // from Profile::base_time_ns on
    uint32_t order = 0;   // in the file
    int8_t device = 0;
    Kind kind = Kind::block;
};

// What the program itself named: an annotation, or a step of the profiler's.
struct ProfileRange {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    TextId name = 0;
};

struct Profile {
    Texts texts;
    std::vector<ProfileEvent> events;  // as in the file, which is not their order
    std::vector<ProfileRange> ranges;
    int64_t base_time_ns = 0;
    uint64_t host_event_count = 0;          // of the CPU's memory
    uint64_t other_device_event_count = 0;  // of devices that are not CUDA's
    uint64_t left_out_range_count = 0;      // behind kRanges_count_most
};

}  // namespace memsnap::snapshot
