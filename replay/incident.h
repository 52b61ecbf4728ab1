// SPDX-License-Identifier: Apache-2.0
//
// The failures of a recorded job and the one that is to be explained. The rule: every failure is listed; the
// incident is the first of the last chain that nothing followed (fatal), else the first failure (survived).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture.h"
#include "evidence.h"

namespace memsnap {

struct Failure {
    Event event;  // block_oom, or the fail record of a device call
    FailedAllocator allocator = FailedAllocator::pytorch;
    uint64_t scope_end_ticket = kNoTicket;  // what showed that the job went on, kNoTicket: nothing
    uint64_t chain = 0;                     // failures of one device with nothing between them share it
    std::optional<uint32_t> keyframe_slot;
    bool in_window = false;
    bool followed = false;  // a boundary opened later, or an equally large success of the thread
};

// What looked like a failure and was none: sorted by ticket.
struct NearMiss {
    enum class Kind : uint8_t {
        recovered,
        probe
    };
    Kind kind = Kind::recovered;
    uint64_t ticket = 0;
    int device = -1;
    uint64_t request_bytes = 0;
    uint64_t failed_calls_count = 0;
    Op op = Op::none;
};

struct Failures {
    std::vector<Failure> listed;        // by ticket
    std::vector<NearMiss> near_misses;  // by ticket
    // Index of the incident in `listed`, of one device when asked for, or at a ticket when asked for.
    std::optional<size_t> incident(std::optional<int> device, std::optional<uint64_t> ticket) const;
    // The first that names the card it happened on; nullptr: none does.
    const Failure* first_placed() const;
    bool only_unplaced() const { return !listed.empty() && first_placed() == nullptr; }
};

Failures find_failures(const Capture& capture);

}  // namespace memsnap
