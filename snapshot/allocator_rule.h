// SPDX-License-Identifier: Apache-2.0
//
// How many bytes PyTorch's caching allocator grants for a request. The rule: its own (docs/snapshots.md,
// Import), since a trace tells what was asked for and not what was given.
#pragma once

#include <cstdint>

#include "../replay/measure.h"
#include "snapshot.h"

namespace memsnap::snapshot {

inline constexpr uint64_t kSmallRequest_bytes = uint64_t{1} << 20;
inline constexpr uint64_t kSmallPage_bytes = uint64_t{2} << 20;
inline constexpr uint64_t kLargePage_bytes = uint64_t{20} << 20;

// The least that any settings lead to.
constexpr uint64_t least_granted_bytes(uint64_t requested_bytes) {
    const uint64_t granules =
        requested_bytes / kGranule_bytes + (requested_bytes % kGranule_bytes != 0 || requested_bytes == 0);
    return granules * kGranule_bytes;
}

class AllocatorRule {
  public:
    explicit AllocatorRule(const Settings& settings);

    uint64_t rounded_bytes(uint64_t requested_bytes) const;
    // Of a block that is cut from a hole of `hole_bytes`, which is at least as large as the rounded request.
    uint64_t granted_bytes(uint64_t requested_bytes, uint64_t hole_bytes, bool expandable) const;

  private:
    uint64_t divisions_[16] = {};  // by the power of two from 1 MiB on
    uint64_t max_split_size_bytes_;
};

}  // namespace memsnap::snapshot
