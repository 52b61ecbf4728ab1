// SPDX-License-Identifier: Apache-2.0
//
// What ranges took, as lines for a terminal and as JSON for programs. The rule: both say the same numbers;
// names stand in them where they are known and were not refused, tokens always.
#pragma once

#include <string>
#include <vector>

#include "range_use.h"
#include "receipt_dictionary.h"
#include "shown_text.h"

namespace memsnap {

inline constexpr std::string_view kRangesSchema = "memsnap.ranges.v1";

struct RangeList {
    const Capture& capture;
    const RangeUses& uses;
    std::vector<RangeSites> last_sites;  // of the range that closed last
    const Naming& naming;
    bool names_shown = true;
};

// One line a name and device: how often, and the greatest of each number.
std::string render_ranges(const RangeList& list, Letters letters);

// docs/gate.md.
std::string ranges_json(const RangeList& list);

}  // namespace memsnap
