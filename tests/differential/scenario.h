// SPDX-License-Identifier: Apache-2.0
//
// A plan of a recorded job, and the trace that carries it out. The rule: equal plans give equal traces, so
// that one number of a plan can be moved while everything else stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event_lines.h"

namespace memsnap::differential {

enum class Victim {
    caching,
    uncached,
    async_pool,
    foreign
};
enum class Marking {
    none,
    step,
    optimizer,
    range,
    module
};
enum class CallMade {
    failed,
    none_made,
    unknown
};

// What the one leaking site leaves behind in a step, and what older holdings the step gives up.
struct StepPlan {
    uint64_t leak_bytes = 0;
    uint64_t given_up_bytes = 0;
    uint64_t other_bytes = 0;  // left behind by a site that only this step has
};

// Steps that nobody marks: sixteen equal rounds of block events.
struct HeartbeatPlan {
    unsigned skipped_beats = 0;         // rounds whose beat has a size of its own
    unsigned single_thread_rounds = 0;  // rounds in which no second thread takes part
    uint64_t leak_bytes = 0;            // a round
};

struct Hole {
    uint64_t bytes = 0;
    uint64_t stream = 0;
    uint64_t pool = 0;
    bool guarded = true;  // something lives in the same segment, so that it cannot be given back
};

struct OutsidePlan {
    uint64_t context_bytes = 300 * kMiB;  // nobody's: contexts, modules
    std::optional<uint64_t> others_bytes;
    std::optional<uint64_t> first_others_bytes;
    uint64_t named_before_bytes = 0;  // of a library with a number, before the baseline
    uint64_t named_after_bytes = 0;
    uint64_t unnamed_bytes = 0;
    bool baseline = true;
    std::optional<uint64_t> earlier_outside_bytes;  // seen by a device sample
    uint64_t earlier_age_ns = 2'000'000'000;
};

struct FailurePlan {
    bool happens = true;
    uint64_t request_bytes = 96 * kMiB;
    std::optional<uint64_t> segment_bytes;  // else what the allocator would ask for, and more than was free
    uint64_t free_bytes = 10 * kMiB;
    bool observed = true;    // the operation asks how much is free
    bool sampled = false;    // a device sample tells it before the operation
    bool total_told = true;  // something tells the card's size
    CallMade call = CallMade::failed;
    std::optional<uint64_t> cap_bytes;
    bool tells_stream = false;
    uint64_t stream = 0;
    uint64_t pool = 0;
    bool tells_free = false;   // the tap, otherwise than what was observed
    bool tells_again = false;  // the tap, all segments
    bool capturing = false;
    bool served_before = false;    // a small block, right before
    bool gives_back_cache = true;  // before it gives up
    bool hole_freed_late = false;  // the last hole's free completes inside the operation
};

struct EndPlan {
    std::optional<int> exit_status;
    bool served_later = false;
    bool step_later = false;
    unsigned later_events = 0;  // block events behind the failure
    bool keyframe = false;
};

struct LossPlan {
    unsigned lost_records = 0;
    bool lost_before_history = false;
    bool late_start = false;
    uint64_t initial_site = 0;  // of the block that a late start finds
    uint64_t unseen_bytes = 0;  // in use before it, and told by nobody
    bool blind = false;
    uint64_t counted_lost = 0;
    uint64_t incomplete_from = 0;
};

struct Plan {
    uint64_t seed = 0;
    unsigned origin = 0;  // of the events: the recorder, a tool of PyTorch's, or a number of a later version
    bool total_stated = false;
    uint64_t card_bytes = 4 * kGiB;
    Victim victim = Victim::caching;
    int device = 0;
    bool second_device = false;
    bool expandable = false;
    bool tap = false;
    bool pools_untold = false;   // the tap knows a new segment's stream only
    bool sums_requests = false;  // the tap knows what all live blocks asked for
    unsigned ring_records = 512;
    unsigned noise_events = 6;  // random blocks of other sites before the history
    uint64_t kept_bytes = 40 * kMiB;
    bool small_blocks = true;  // of the small pool, in each step
    bool fills_card = false;   // what is kept may be raised until only the plan's outside bytes are left

    Marking marking = Marking::none;
    std::vector<StepPlan> steps;  // one a boundary
    bool request_served_in_steps = false;
    bool caught_failure = false;  // in the middle of the history
    std::optional<HeartbeatPlan> heartbeat;
    std::vector<Hole> holes;
    uint64_t deferred_bytes = 0;
    OutsidePlan outside;
    FailurePlan failure;
    EndPlan end;
    LossPlan loss;
    bool damaged = false;         // one number that no lossless writer writes
    bool silent = false;          // of the natural ones: nothing observes the device
    unsigned natural_events = 0;  // instead of all the above: whatever the allocator model does of itself
};

uint64_t outside_bytes(const OutsidePlan& plan);
std::vector<std::string> build(const Plan& plan);

}  // namespace memsnap::differential
