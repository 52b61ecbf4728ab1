// SPDX-License-Identifier: Apache-2.0
//
// The decision where every number is exact: one end of each interval. The rule: no interval, no unknown and
// no qualifier about their absence comes in here; verdict.cpp deals with those.
#pragma once

#include "verdict.h"

namespace memsnap {

struct Point {
    Wide request = 0;
    Wide segment_request = 0;
    Wide total = 0;
    Wide device_free = 0;
    Wide reserved = 0;
    Wide allocated = 0;
    Wide deferred = 0;
    Wide releasable = 0;
    Wide retained = 0;  // Q
    std::optional<Wide> cap;
};

// What else there is of growth, extents and outside bytes are taken from the evidence: they carry their own
// bounds.
Verdict decide_point(const Point& point, const Evidence& evidence);

// E between its bounds; equal when the bytes of other processes are known.
struct Removable {
    Wide low = 0;
    Wide high = 0;
};
Removable removable_outside(const Outside& outside, Wide outside_bytes, bool cap_binds);

}  // namespace memsnap
