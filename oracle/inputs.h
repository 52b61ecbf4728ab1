// SPDX-License-Identifier: Apache-2.0
//
// The inputs at the failing instant (VERDICT.md §5). Rule: each is what the recording says or nothing; what
// is not known is bounded later, by the decision.
#pragma once

#include "extents.h"
#include "growth.h"

namespace oracle {

enum class DeviceCall : u8 {
    kUnknown,
    kFailed,
    kNoneMade
};
enum class HoleRelease : u8 {
    kUnknown,
    kOverlaps,
    kSeparate
};

struct Inputs {
    Victim victim = Victim::kPytorch;
    u64 ticket = 0;
    int device = -1;
    std::optional<Int> request_bytes;  ///< R; for a foreign failure the failed call's size
    Int segment_request_bytes = 0;     ///< N
    bool segment_request_observed = false;
    DeviceCall device_call = DeviceCall::kUnknown;
    std::optional<u64> first_refused;  ///< c
    std::optional<Int> total_bytes, device_free_bytes;
    bool free_observed_at_failure = false;
    Int reserved_bytes = 0, allocated_bytes = 0;
    bool totals_observed = false;
    std::optional<Int> deferred_bytes;
    std::optional<Int> requested_bytes;  ///< of all live blocks, by the failure's `tap_oom`
    Int direct_bytes = 0;
    Int releasable_bytes = 0, unseen_bytes = 0, uncertainty_bytes = 0;
    Int largest_compatible_bytes = 0, largest_bytes = 0;  ///< L1, L2
    Int reusable_bytes = 0, fragmented_bytes = 0, incompatible_bytes = 0, remappable_bytes = 0;
    HoleRelease hole_release = HoleRelease::kUnknown;
    std::optional<Int> cap_bytes;
    std::optional<Int> others_bytes;
    std::optional<u64> other_processes;  ///< of the sample that tells others_bytes
    bool holder_shares_job = false;
    Int named_bytes = 0, named_growth_bytes = 0;
    std::optional<u64> baseline_ticket;
    std::optional<Int> baseline_outside_bytes, baseline_unattributed_bytes, earlier_outside_bytes;
    bool incomplete = false;
    DeviceState state;

    Int active_bytes() const { return allocated_bytes + deferred_bytes.value_or(0); }
    Int slack_bytes() const { return reserved_bytes - active_bytes(); }
    Int free_extent_bytes() const { return reusable_bytes + fragmented_bytes + incompatible_bytes; }
};

Inputs gather(const Scene& scene, const Failed& failed);

/// What the operation before the failure says: its record, and the mem_info it names.
struct Operation {
    std::optional<Event> record;
    std::optional<Event> observation;  ///< the mem_info T and F come from
    std::optional<Event> tap_oom;      ///< of an OOM report
    std::optional<u64> first_refused;
    u64 begin = 0;  ///< the earliest of what belongs to it
    bool free_observed = false;
};
Operation operation_of(const Scene& scene, const Failed& failed);

/// Successful, available mem_info or device_sample of the device.
bool is_observation(const Event& event, int device);
/// After a late start, before PyTorch's allocator reported: nobody knows how much of the card it held.
bool is_untold(const File& file, const Event& observation);
/// Of one that is not untold.
Int outside_of(const Event& observation);
/// Every observation of the device that is left: pinned ones in their order, samples, events.
std::vector<Event> observations_of(const Recording& recording, int device);
/// The last available process_sample of the device in the window by `ticket`; without one, the first after it
/// by `limit`.
const Event* process_sample_at(const Recording& recording, int device, u64 ticket, u64 limit);
void gather_outside(const Scene& scene, const Failed& failed, const Operation& operation, Inputs& inputs);

}  // namespace oracle
