// SPDX-License-Identifier: Apache-2.0
//
// What each device of a running job has now. The rule: the newest word on a number counts, and goes with the
// ticket it was said at; a number that nobody said stays empty.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "live_trend.h"
#include "reader_live.h"
#include "site_table.h"

namespace memsnap {

// A number and where in the recording it was said.
struct Said {
    uint64_t bytes = 0;
    uint64_t time_counter = 0;
};

struct LiveDevice {
    int device = -1;
    std::optional<Said> active, reserved;  // as PyTorch's allocator reported them last
    uint64_t block_count = 0;              // of the live table
    uint64_t block_bytes = 0;
    // As the device answered last.
    std::optional<Said> total, free;
    std::optional<uint64_t> reserved_then_bytes;
    std::optional<Said> others;  // held by other processes
    uint64_t others_count = 0;
    uint64_t outside_bytes = 0;  // held by other libraries of the process, by their own calls
    std::optional<uint64_t> cap_bytes;
    std::optional<uint64_t> peak_active_bytes, peak_reserved_bytes, peak_outside_bytes;
    std::optional<Trend> trend;
    std::vector<SiteShare> sites;  // with most bytes

    // What PyTorch may have: free bytes of the device and what was reserved then, or less by a limit.
    std::optional<uint64_t> available_bytes() const;
    // Of it, what is not in use; it may be below 0 for the time between two answers of the device.
    std::optional<Wide> margin_bytes() const;
};

// Of the devices that the recording tells of.
std::vector<LiveDevice> live_devices(const LiveFacts& facts);

}  // namespace memsnap
