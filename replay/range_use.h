// SPDX-License-Identifier: Apache-2.0
//
// What was taken while each range that the program told of was open: its peak, and what it left behind. The
// rule: bytes are those that PyTorch's allocator itself reported, on all threads of the process; a range
// whose begin lies before the window is counted where its end does not, and nothing is said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture.h"
#include "result.h"
#include "site_table.h"

namespace memsnap {

struct DeviceUse {
    int device = -1;
    uint64_t begin_bytes = 0;  // allocated when it opened
    uint64_t peak_bytes = 0;   // the most allocated from there on
    uint64_t peak_ticket = 0;
    uint64_t peak_reserved_bytes = 0;
    uint64_t end_bytes = 0;  // allocated when it closed, or at the window's end
    Wide left_bytes = 0;     // live at its end, of what was born in it
    uint64_t left_block_count = 0;

    uint64_t added_bytes() const { return peak_bytes - begin_bytes; }
};

struct RangeUse {
    uint64_t begin_ticket = 0;
    std::optional<uint64_t> end_ticket;  // nullopt: open at the window's end
    uint32_t name = 0;                   // exact local name id, 0: none
    uint32_t folded_name = 0;
    uint32_t depth = 0;  // ranges open on its thread when it opened, as far as their begin or end is known
    uint16_t thread = 0;
    std::vector<DeviceUse> devices;  // with reports by its end, ascending
};

// So many open ranges are followed at a time, those that opened first.
inline constexpr size_t kRangesFollowed_most = 1024;

struct RangeUses {
    std::vector<RangeUse> ranges;     // by begin
    uint64_t begun_before_count = 0;  // of those that ended in the window
    uint64_t not_followed_count = 0;  // opened while the most were open already
    bool in_standby = false;          // no events were kept
};

// Ranges of family `range`. Errors: the recording breaks a rule.
Result<RangeUses> range_uses(const Capture& capture);

// Of one range and device, of blocks born in the range: by birth site, most bytes first.
struct RangeSites {
    int device = -1;
    std::vector<SiteShare> at_peak;
    std::vector<SiteShare> left;
};
Result<std::vector<RangeSites>> range_sites(const Capture& capture, const RangeUse& range);

// The one that closed last, of those that were in no other on their thread; nullptr: none has closed.
const RangeUse* last_closed(const RangeUses& uses);

}  // namespace memsnap
