// SPDX-License-Identifier: Apache-2.0
//
// What a device's active memory does from step to step, and where that leads. The rule: comparable boundaries
// alone are compared, the growth is called one by the rules of retention (VERDICT.md, "Growth"), and what it
// would fill is said with what it was reckoned from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "boundary.h"
#include "capture.h"
#include "measure.h"

namespace memsnap {

// Intervals looked at: old ones say little of now.
inline constexpr size_t kTrendIntervals_most = 32;

enum class TrendLevel : uint8_t {
    peak,   // the peak so far, which lies among the boundaries looked at
    point,  // the last boundary: the step's own peak is higher, so the card is full earlier
};

struct Trend {
    BoundaryFamily family = BoundaryFamily::none;
    uint64_t point_count = 0;
    uint64_t step_count = 0;  // between the first and the last point; the recorder's thinning counted in
    Wide change_bytes = 0;    // of active, from the first point to the last
    bool growing = false;
    // When the growth goes on: steps until the level has grown by the margin that it leaves.
    std::optional<uint64_t> full_in_steps;
    TrendLevel level = TrendLevel::point;

    Wide bytes_per_step() const { return step_count == 0 ? 0 : change_bytes / Wide{step_count}; }
};

// nullopt: fewer than two comparable boundaries behind the warm-up. `available_bytes`: what PyTorch may have.
std::optional<Trend> find_trend(const Capture& capture, int device, std::optional<uint64_t> available_bytes);

}  // namespace memsnap
