// SPDX-License-Identifier: Apache-2.0
//
// The failing operation: what it asked the device for, what was refused, and what it saw of the device's free
// bytes. The rule: device-free counts as seen at the failure only when nothing of this process changed in
// between.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture.h"
#include "evidence.h"
#include "ledger.h"

namespace memsnap {

struct Operation {
    DeviceCall device_call = DeviceCall::unknown;
    std::optional<Event> observation;  // the last answer to cudaMemGetInfo
    bool observed_at_failure = false;
    uint64_t first_refused_ticket = kNoTicket;
    Op refused_op = Op::none;
    uint64_t refused_bytes = 0;       // the first refused call
    uint64_t last_attempt_bytes = 0;  // by the last attempt in all
};

// `recorded`: the failing thread's calls, as a keyframe keeps them; empty when the ring has them.
// `path_hooked`: this process's segments were seen being made, so a call that was made would have been seen.
Operation read_operation(const EventStream& events, const std::vector<Event>& recorded, const Event& failure,
                         bool path_hooked);

// N. `mapped_tail_bytes`: free mapped bytes at the end of the largest growable segment, which a mapping
// operation need not ask for again.
Measure segment_request(const Operation& operation, const Event& failure, bool caching,
                        uint64_t mapped_tail_bytes);

}  // namespace memsnap
