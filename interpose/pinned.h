// SPDX-License-Identifier: Apache-2.0
//
// The pinned area: per device, copies of the records a verdict needs however often the ring laps. The rule:
// a fact that changes has two copies, written in turn, so that one of them is whole at any instant.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// A block was reported: first report, exact peaks. `record` is the committed `event`.
void pin_block(Recorder& recorder, const Event& event, const PackedRecord& record, uint64_t allocated_bytes,
               uint64_t reserved_bytes);

// The totals of the event's device as last reported, if any were.
void add_reported_totals(const Recorder& recorder, Event& event);

// The device's memory was observed (mem_info, device_sample): first, last, the greatest outside bytes, and of
// samples the last 64.
void pin_observation(Recorder& recorder, const Event& event, const PackedRecord& record);

// Its processes were (process_sample): first and last.
void pin_processes(Recorder& recorder, const Event& event, const PackedRecord& record);

// Its limit was told (cap): the last.
void pin_cap(Recorder& recorder, const Event& event, const PackedRecord& record);

struct Observed {
    bool known = false;
    uint64_t free_bytes = 0;
    uint64_t time = 0;
};
// The last observation of a device at a boundary; that of its first boundary is pinned.
Observed observe_boundary(Recorder& recorder, uint32_t device);

}  // namespace memsnap::recorder
