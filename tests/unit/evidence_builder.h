// SPDX-License-Identifier: Apache-2.0
//
// Evidence for the tests of the verdict: a card of 1,000,000 bytes (threshold 15,000) on which the request
// just fails or just fits, so that one byte decides. The rule: a case states only what differs from the plain
// one.
#pragma once

#include "evidence.h"

namespace memsnap::test {

inline constexpr uint64_t kCard_bytes = 1'000'000;
inline constexpr uint64_t kThreshold_bytes = 15'000;

// Nothing free but what the case adds: outside 100,000; reserved 900,000 of which `slack` is free, in holes
// of at most `largest`; device-free 0. The margin is slack - request.
inline Evidence plain(uint64_t request, uint64_t slack, uint64_t largest) {
    Evidence evidence;
    evidence.device = 0;
    evidence.device_call = DeviceCall::failed;
    evidence.free_observed_at_failure = true;
    evidence.request = Measure::observed(request);
    evidence.segment_request = Measure::observed(request);
    evidence.total = Measure::observed(kCard_bytes);
    evidence.device_free = Measure::observed(0);
    evidence.reserved = Measure::observed(900'000);
    evidence.allocated = Measure::observed(900'000 - slack);
    evidence.deferred = Measure::observed(0);
    evidence.releasable = Measure::observed(0);
    evidence.extents.known = true;
    evidence.extents.largest_compatible = largest;
    evidence.extents.largest_not_excluded = largest;
    evidence.extents.fragmented = largest < request ? slack : slack - largest;
    evidence.extents.reusable = slack - evidence.extents.fragmented;
    evidence.growth.basis = GrowthBasis::marked;
    evidence.growth.boundary_count = 10;
    evidence.outside.others = Measure::observed(0);
    return evidence;
}

// The request is 50,000 and lacks `deficit` bytes to reach the threshold.
inline Evidence lacking(uint64_t deficit) {
    return plain(50'000, 50'000 + kThreshold_bytes - deficit, 1'000);
}

// Bytes of other processes, within the 100,000 that are outside.
inline Evidence with_others(Evidence evidence, uint64_t bytes) {
    evidence.outside.others = Measure::observed(bytes);
    return evidence;
}

inline Evidence with_retained(Evidence evidence, uint64_t bytes) {
    evidence.growth.retained = bytes;
    return evidence;
}

}  // namespace memsnap::test
