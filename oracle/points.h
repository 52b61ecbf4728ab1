// SPDX-License-Identifier: Apache-2.0
//
// Points: "the same point" of successive steps (VERDICT.md §6). Rule: boundaries that the recorder closed
// first, then inferred ones.
#pragma once

#include "scene.h"

namespace oracle {

enum class Basis : u8 {
    kMarked,
    kCertified,
    kUncertified,
    kTooFew,
    kLapped
};
enum class Family : u8 {
    kNoFamily,
    kStep,
    kOptimizer,
    kRange,
    kModule
};

struct Point {
    u64 ticket = 0;
    Int active_bytes = 0;
    Int reserved_bytes = 0;
    std::optional<Int> device_free_bytes;
};

struct Points {
    Basis basis = Basis::kTooFew;
    Family family = Family::kNoFamily;
    Family told_family =
        Family::kNoFamily;  ///< the same, and beside inferred points that with most boundaries
    std::vector<Point> list;

    std::size_t growing_pairs() const;
};

/// Those that the recorder closed; basis `marked` or `too_few`.
Points marked_points(const File& file, int device, u64 ticket);
/// Points of a device up to `ticket`; events at `ticket` itself infer nothing.
Points points_of(const Scene& scene, int device, u64 ticket);
/// Inferred ones only, for points_of.
std::optional<Points> infer_points(const Scene& scene, int device, u64 ticket);

}  // namespace oracle
