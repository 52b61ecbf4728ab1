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

// The device's memory was observed (mem_info, device_sample): first, last and the greatest outside bytes.
void pin_observation(Recorder& recorder, const Event& event, const PackedRecord& record);

}  // namespace memsnap::recorder
