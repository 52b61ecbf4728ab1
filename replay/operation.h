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

// The torch tap's word about an OOM report: the last `tap_oom` of its thread and device shortly before it,
// with no other report of the two between; nullopt: none, or another failure.
std::optional<Event> tap_of_failure(const EventStream& events, const Event& failure);

// From when on a hole freed was freed during the failing operation: since its first refused call. Where calls
// were not recorded, since the last block that was served. kNoTicket: no call was refused.
uint64_t release_begin_ticket(const EventStream& events, const Operation& operation, const Event& failure,
                              Origin origin);

// N. `mapped_tail_bytes`: free mapped bytes at the end of the largest growable segment, which a mapping
// operation need not ask for again.
Measure segment_request(const Operation& operation, const Event& failure, bool caching,
                        uint64_t mapped_tail_bytes);

}  // namespace memsnap
