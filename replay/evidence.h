// SPDX-License-Identifier: Apache-2.0
//
// What the verdict is decided from: the numbers at the failing instant on the failing device. The rule: this
// is the whole input of decide(); a fact that is not here cannot change a verdict. Bytes throughout; a
// measure that was not to be had is unknown, never 0.
#pragma once

#include <cstdint>
#include <optional>

#include "measure.h"
#include "vocabulary.h"

namespace memsnap {

// Who could not place the request.
enum class FailedAllocator : uint8_t {
    pytorch,           // the caching allocator
    pytorch_uncached,  // PyTorch with caching disabled: each tensor is a device allocation
    foreign,           // another allocator of this process: NCCL, cuBLAS, a program's own cudaMalloc
};

// What the failing operation asked the device for.
enum class DeviceCall : uint8_t {
    unknown,
    none_made,
    failed
};

// Where matched boundaries came from, and so what may be concluded from growth across them.
enum class GrowthBasis : uint8_t {
    too_few,      // fewer than six boundaries: `retained` is an upper bound
    marked,       // steps, optimizer steps, ranges or module calls
    certified,    // inferred from the heartbeat, and forward and backward alternate between threads
    uncertified,  // inferred only: `retained` is an upper bound
    lapped,  // could only be inferred, and the ring no longer holds the events: `retained` is an upper bound
};

// Whether the hole that would have fitted was freed only during the failing operation.
enum class HoleRelease : uint8_t {
    unknown,
    separate,
    overlaps
};

struct Extents {
    bool known = false;                 // false: no segment map (numbers from text)
    uint64_t largest_compatible = 0;    // largest known to be compatible with the request
    uint64_t largest_not_excluded = 0;  // largest not known to be incompatible
    uint64_t reusable = 0;              // sum of those not known incompatible and >= request
    uint64_t fragmented = 0;            // sum of those not known incompatible and < request
    uint64_t incompatible = 0;          // sum of those of other pools, streams or size classes
    uint64_t remappable = 0;  // whole pages in those not incompatible: what expandable ones give back
    HoleRelease release = HoleRelease::unknown;

    Wide compatible() const { return Wide{reusable} + fragmented; }
};

struct Growth {
    GrowthBasis basis = GrowthBasis::too_few;
    uint64_t retained = 0;  // Q, or its upper bound; see GrowthBasis
    // After a late start: live bytes that nobody knows the birth of. Any of them may be retained.
    uint64_t unknown_births = 0;
    uint64_t births_known_from_ticket =
        0;  // when older blocks were born nobody knows; 0: all births are known
    uint64_t boundary_count = 0;
    uint64_t growing_pairs_count = 0;  // of five
    uint64_t kept_since_failure = 0;   // live since before a caught failure: not retention
    bool request_repeated = false;     // the same site and size was served within the last five steps
    bool module_calls = false;         // the boundaries are module calls, several of which may make one step

    bool judged() const { return basis == GrowthBasis::marked || basis == GrowthBasis::certified; }
    // What is certainly retained, and what may be.
    uint64_t retained_low() const { return judged() ? retained : 0; }
    Wide retained_high() const {
        const bool bound_has_all = basis == GrowthBasis::too_few || basis == GrowthBasis::lapped;
        return Wide{retained} + (bound_has_all ? 0 : unknown_births);
    }
};

struct Outside {
    Measure others;  // bytes of other processes
    std::optional<uint64_t> other_process_count;
    uint64_t named_bytes = 0;       // live driver-level bytes of this process's named libraries
    uint64_t named_growth = 0;      // of them, born after the baseline
    Measure baseline_outside;       // X at the baseline
    Measure baseline_unattributed;  // X at the baseline less what had a name then
    std::optional<uint64_t> baseline_ticket;
    Measure earlier_outside;         // X at the latest observation at least a second before the failure
    bool holder_shares_job = false;  // another process of this job holds the bytes
};

struct Evidence {
    int device = -1;
    FailedAllocator allocator = FailedAllocator::pytorch;
    DeviceCall device_call = DeviceCall::unknown;
    bool free_observed_at_failure = false;  // between the failing call and the next map, unmap or free

    Measure request;           // R
    Measure segment_request;   // N
    Measure total;             // T
    Measure device_free;       // F
    Measure reserved;          // V
    Measure allocated;         // A
    Measure deferred;          // P
    Measure releasable;        // W
    Measure cap;               // C
    uint64_t uncertainty = 0;  // bytes by which declared gaps may make the totals disagree
    uint64_t unseen_segment_bytes = 0;
    Extents extents;
    Growth growth;
    Outside outside;

    bool expandable_segments = false;  // the allocator uses them already
    Origin origin = Origin::recorder;
    bool total_stated = false;  // T, by a person

    bool fatal = false;       // nothing shows that the job went on
    bool survived = false;    // a boundary or an equally large success followed
    bool blind = false;       // entry points or libraries that were not hooked
    bool incomplete = false;  // started late, or the table was full: older memory may be missing
};

}  // namespace memsnap
