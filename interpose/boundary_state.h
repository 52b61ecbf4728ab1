// SPDX-License-Identifier: Apache-2.0
//
// What is remembered about the boundary table between boundaries. The rule: all but the last boundary's words
// belongs to the holder of `lock`, which is only ever tried, a bounded number of times.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire.h"

namespace memsnap::recorder {

inline constexpr uint32_t kBoundaryCapacity = 65536;

struct BoundaryState {
    // Thinned apart: nested ranges would otherwise crowd the outermost ones out.
    enum Class : uint32_t {
        kStep,
        kOptimizer,
        kRange,
        kNestedRange,
        kModule,
        kClassCount
    };

    std::atomic<uint32_t> lock;
    wire::Boundary* entries;
    uint32_t capacity;
    uint32_t free_count;
    uint32_t cursor;  // where the search for a free place goes on
    uint32_t next_ordinal;
    uint32_t closed_count[kClassCount];  // boundaries of the class so far, kept or not
    // What lies in each place: class and number within it, plus 1; 0: free.
    uint32_t places[kBoundaryCapacity];

    // The last boundary closed: 1 + its ordinal, and its time. For the sampler.
    std::atomic<uint32_t> last_ordinal;
    std::atomic<uint64_t> last_time;
};

}  // namespace memsnap::recorder
