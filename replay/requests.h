// SPDX-License-Identifier: Apache-2.0
//
// What was requested against what was granted. The rule: only the torch tap tells a request; a sum over all
// live blocks is known when each of them was told of, or when the allocator said it at the failure.
#pragma once

#include <cstdint>
#include <optional>

#include "ledger.h"
#include "measure.h"

namespace memsnap {

// Live blocks of a device at an instant.
struct Requests {
    int device = -1;
    uint64_t ticket = 0;
    uint64_t granted_bytes = 0;
    std::optional<Wide> requested_bytes;
    // Of the blocks that the tap told of.
    uint64_t told_block_count = 0;
    uint64_t told_granted_bytes = 0;
    Wide told_requested_bytes = 0;
    Wide told_rounding_bytes = 0;  // up to whole granules

    // What a block has beyond that: not split off, or rounded further.
    Wide told_kept_bytes() const {
        return Wide{told_granted_bytes} - told_requested_bytes - told_rounding_bytes;
    }
};

// nullopt: no torch tap by then. `reported_bytes`: what the allocator said of all live blocks at a failure.
std::optional<Requests> requests_at(const Ledger& ledger, int device, uint64_t ticket,
                                    std::optional<uint64_t> reported_bytes);

}  // namespace memsnap
