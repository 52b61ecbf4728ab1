// SPDX-License-Identifier: Apache-2.0
//
// Ranges that touch, at whatever time, are of one reservation, which has pages of one size.
#include "page_sizes.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "allocator_rule.h"

namespace memsnap::snapshot {

namespace {

struct Range {
    uint64_t begin = 0, end = 0;
    bool is_small = false;
};

// What divides every begin and end, counted from the first.
uint64_t page_bytes(const Range* first, const Range* last) {
    uint64_t divisor = 0;
    bool is_small = false;
    for (const Range* range = first; range != last; ++range) {
        divisor = std::gcd(std::gcd(divisor, range->begin - first->begin), range->end - first->begin);
        is_small |= range->is_small;
    }
    if (!is_small && divisor % kLargePage_bytes == 0) return kLargePage_bytes;
    return divisor % kSmallPage_bytes == 0 ? kSmallPage_bytes : divisor;
}

}  // namespace

PageSizes::PageSizes(const std::vector<Segment>& segments, const std::vector<TraceEntry>& trace,
                     const RolledBack& rolled) {
    std::vector<Range> ranges;
    for (const Segment& segment : segments) {
        if (segment.expandable)
            ranges.push_back({segment.address, segment.address + segment.total_bytes, segment.small});
    }
    for (size_t at = 0; at < trace.size(); ++at) {
        const TraceEntry& entry = trace[at];
        const bool of_pages = entry.action == Action::segment_map || entry.action == Action::segment_unmap;
        if (of_pages && rolled.parts[at] != Part::skipped)
            ranges.push_back({entry.address, entry.address + entry.size_bytes, false});
    }
    std::ranges::sort(ranges, {}, &Range::begin);
    for (size_t first = 0, last = 0; first < ranges.size(); first = last) {
        uint64_t end = ranges[first].end;
        for (last = first + 1; last < ranges.size() && ranges[last].begin <= end; ++last)
            end = std::max(end, ranges[last].end);
        pages_[ranges[first].begin] = page_bytes(ranges.data() + first, ranges.data() + last);
    }
    const auto count = [&](uint64_t address, uint64_t size_bytes) {
        if (__builtin_add_overflow(told_count_, size_bytes / at(address), &told_count_))
            told_count_ = UINT64_MAX;
    };
    for (const InitialSegment& segment : rolled.segments) {
        if (segment.expandable) count(segment.address, segment.size_bytes);
    }
    for (size_t entry = 0; entry < trace.size(); ++entry) {
        const Action action = trace[entry].action;
        const bool of_pages = action == Action::segment_map || action == Action::segment_unmap;
        if (of_pages && rolled.parts[entry] != Part::skipped)
            count(trace[entry].address, trace[entry].size_bytes);
    }
}

uint64_t PageSizes::at(uint64_t address) const {
    const auto behind = pages_.upper_bound(address);
    return behind == pages_.begin() ? kSmallPage_bytes : std::prev(behind)->second;
}

}  // namespace memsnap::snapshot
