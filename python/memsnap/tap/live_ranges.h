// SPDX-License-Identifier: Apache-2.0
//
// The live segments of one device, with their streams and pools. The rules: memory for all of them is there
// from the start, zeroed; contiguous pages of expandable segments are one range, so that there are few; once
// one found no place the list is incomplete for good.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memsnap_tap {

struct Range {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t stream;
    uint16_t pool;
    bool mapped;  // of an expandable segment

    uint64_t end() const { return address + size_bytes; }
};

class LiveRanges {
  public:
    static constexpr uint32_t kCapacity = 16384;

    const Range* begin() const { return ranges_; }
    const Range* end() const { return ranges_ + count_; }
    uint32_t count() const { return count_; }
    bool overflowed() const { return overflowed_; }

    void clear() {
        count_ = 0;
        overflowed_ = false;
    }

    void add(const Range& added) {
        Range* next = first_ending_after(added.address);
        const bool joins_next = next != end() && continues(added, *next);
        if (next != ranges_ && continues(next[-1], added)) {
            next[-1].size_bytes += added.size_bytes + (joins_next ? next->size_bytes : 0);
            if (joins_next) remove(next);
        } else if (joins_next) {
            next->address = added.address;
            next->size_bytes += added.size_bytes;
        } else {
            insert(next, added);
        }
    }

    // What lies there, also a part of a range.
    void take_away(uint64_t address, uint64_t size_bytes) {
        const uint64_t gone_end = address + size_bytes;
        for (;;) {
            Range* range = first_ending_after(address);
            if (range == end() || range->address >= gone_end) return;
            const bool keeps_begin = range->address < address;
            const bool keeps_end = range->end() > gone_end;
            Range behind = *range;
            behind.address = gone_end;
            behind.size_bytes = range->end() - gone_end;
            if (keeps_begin) range->size_bytes = address - range->address;
            if (keeps_end && keeps_begin) {
                insert(range + 1, behind);
            } else if (keeps_end) {
                *range = behind;
            } else if (!keeps_begin) {
                remove(range);
            }
        }
    }

  private:
    static bool continues(const Range& range, const Range& next) {
        return range.mapped && next.mapped && range.end() == next.address && range.stream == next.stream &&
               range.pool == next.pool;
    }

    Range* first_ending_after(uint64_t address) {
        return std::partition_point(ranges_, ranges_ + count_,
                                    [=](const Range& range) { return range.end() <= address; });
    }

    void remove(Range* range) {
        std::copy(range + 1, ranges_ + count_, range);
        --count_;
    }

    void insert(Range* place, const Range& range) {
        if (count_ == kCapacity) {
            overflowed_ = true;
            return;
        }
        std::copy_backward(place, ranges_ + count_, ranges_ + count_ + 1);
        *place = range;
        ++count_;
    }

    uint32_t count_;
    bool overflowed_;
    Range ranges_[kCapacity];  // by address, none overlapping another
};

}  // namespace memsnap_tap
