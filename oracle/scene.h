// SPDX-License-Identifier: Apache-2.0
//
// A recording with everything that follows from it without choosing an instant. Rule: made once, then only
// asked.
#pragma once

#include "outside.h"
#include "sums.h"

namespace oracle {

struct Scene {
    Recording recording;
    std::vector<Range> ranges;
    std::vector<Life> lives;
    std::vector<Issue> issues;
    Regions regions;
    Pieces pieces;

    /// The sum of the blocks of the device that are live at the instant.
    Int live_block_bytes(int device, u64 ticket) const;
    /// What the last report up to the instant tells beyond the blocks that were seen; 0 without one.
    Int unseen_block_bytes(int device, u64 ticket) const;
    /// What PyTorch's allocator holds: in regions, and as physical memory that nothing maps.
    Int held_bytes(int device, u64 ticket) const;
    /// Live blocks at every instant.
    Sums live_blocks(int device) const;
};

Scene make_scene(Recording recording);

/// A birth site: its stack, or the granted size where there is none.
using Site = std::pair<u64, u64>;
inline Site site_of(const Life& block) {
    return block.site != 0 ? Site{block.site, 0} : Site{0, block.size};
}

}  // namespace oracle
