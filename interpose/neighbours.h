// SPDX-License-Identifier: Apache-2.0
//
// Whose the memory of a device is: ours, or that of neighbours, and which of those belong to our job. The
// rule: our own bytes are never taken for a neighbour's. Where we are not to be found among the holders, be
// it that the numbers are those of another pid namespace or that the driver does not tell, nothing is said
// about anybody.
#pragma once

#include "event.h"
#include "holders.h"
#include "process.h"

namespace memsnap::recorder {

inline constexpr uint32_t kNeighboursAtMost = 8;

// The neighbour events of a device, most bytes first, and the process_sample event that they belong to.
struct ProcessEvents {
    Event neighbours[kNeighboursAtMost];
    uint32_t neighbour_count = 0;
    Event sample;
};

// `reserved_bytes`: what PyTorch's allocator said that it holds of the device.
void describe_processes(const wire::Header& header, const Holders& holders, uint64_t reserved_bytes,
                        ProcessEvents& events);
// The same when the holders could not be asked.
void describe_no_processes(ProcessEvents& events);

}  // namespace memsnap::recorder
