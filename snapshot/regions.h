// SPDX-License-Identifier: Apache-2.0
//
// Segments and ranges of mapped pages of one device, by address. The rule: no two overlap; ranges of pages
// that touch, of one stream and pool as far as they are known, are one.
#pragma once

#include <cstdint>
#include <map>

#include "snapshot.h"

namespace memsnap::snapshot {

struct Region {
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
    StackId stack = 0;
    bool expandable = false;
};

class Regions {
  public:
    using Place = std::map<uint64_t, Region>::value_type;  // by address

    // The region that holds the whole range.
    const Place* holding(uint64_t address, uint64_t size_bytes) const;
    const Place* at(uint64_t address) const;  // that begins there
    bool overlaps(uint64_t address, uint64_t size_bytes) const;
    void put(uint64_t address, Region region);  // where none is
    uint64_t sum_bytes() const { return sum_bytes_; }
    // Takes a range out of the region that holds it.
    void cut(uint64_t address, uint64_t size_bytes);

    auto begin() const { return regions_.begin(); }
    auto end() const { return regions_.end(); }

  private:
    std::map<uint64_t, Region> regions_;
    uint64_t sum_bytes_ = 0;
};

}  // namespace memsnap::snapshot
