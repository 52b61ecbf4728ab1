// SPDX-License-Identifier: Apache-2.0
//
// What the device looked like at the failing instant, beside the numbers that decide: the table of extents,
// live bytes by birth site, outside bytes by library. The rule: ordinals instead of addresses; nothing in
// here decides.
#pragma once

#include <cstdint>
#include <vector>

#include "extent.h"
#include "growth.h"
#include "ledger.h"
#include "site_table.h"

namespace memsnap {

struct SceneExtent {
    Extent extent;
    Compatibility compatibility = Compatibility::unknown;  // free extents: with the request
    uint64_t site_ordinal = 0;                             // live extents; 0 for others
};

// Live blocks that were told to be of one use; none: that were not told of.
struct CategoryShare {
    Category category = Category::none;
    uint64_t bytes = 0;
    uint64_t block_count = 0;
};

struct Scene {
    uint32_t step_count = 0;                // steps ended before the failure
    uint64_t stackless_bytes = 0;           // live bytes without a recorded stack
    std::vector<SceneExtent> extents;       // by segment, then offset
    std::vector<SiteShare> sites;           // by bytes, largest first; numbered in the order of the extents,
                                            // then of the blocks outside them
    std::vector<CategoryShare> categories;  // those with blocks, in the order of the vocabulary
    std::vector<SurvivorSite> survivors;    // by bytes, largest first
    std::vector<ForeignBytes> libraries;    // own driver-level bytes by library
    std::vector<uint16_t> phases;           // of the sites, by first appearance there; 0 is none of them
};

// Fills all but `extents`, and gives the extents there their site ordinals.
void describe_scene(const Ledger& ledger, const Event& failure, GrowthResult& growth, Scene& scene);

}  // namespace memsnap
