// SPDX-License-Identifier: Apache-2.0
//
// The pages that expandable segments are mapped in. The rule: a file tells ranges of pages and the class of
// those that are left; what is gone is judged by what its sizes can be divided into.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "roll_back.h"

namespace memsnap::snapshot {

class PageSizes {
  public:
    // Of one device; `rolled` is of its trace.
    PageSizes(const std::vector<Segment>& segments, const std::vector<TraceEntry>& trace,
              const RolledBack& rolled);

    uint64_t at(uint64_t address) const;
    // How many pages are there at the begin, or come and go by an entry.
    uint64_t told_count() const { return told_count_; }

  private:
    std::map<uint64_t, uint64_t> pages_;  // by the begin of everything mapped there that touches
    uint64_t told_count_ = 0;
};

}  // namespace memsnap::snapshot
