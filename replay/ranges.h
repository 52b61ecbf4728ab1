// SPDX-License-Identifier: Apache-2.0
//
// The ranges that are open on each thread, and what they say of an event: its phase, and whether it happens
// in a pass of Python's cyclic garbage collection. The rule: a range ends by the phase_end of its own thread
// that names its begin, in whatever order; anything else ends nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "event.h"

namespace memsnap {

// Ranges of one thread and one sort, by begin; the last of them is open.
class RangeStack {
  public:
    bool empty() const { return ranges_.empty(); }
    uint16_t innermost_name() const { return ranges_.back().name; }
    void begin(uint64_t ticket, uint16_t name) { ranges_.push_back({ticket, name, true}); }
    bool end(uint64_t ticket);  // false: no such range is open

  private:
    struct Range {
        uint64_t ticket = 0;  // of its begin
        uint16_t name = 0;
        bool open = false;
    };
    std::vector<Range> ranges_;
};

class Ranges {
  public:
    void begin(const Event& event);
    // Whether it ended a collection.
    bool end(const Event& event);

    // Folded name of the innermost labelling range on a thread, and on one that never began any, of that of
    // the only thread with one open; 0: none.
    uint16_t phase_on(uint16_t thread) const;
    bool in_collection(uint16_t thread) const;
    // What a copy costs.
    uint64_t begun_count() const { return begun_count_; }

  private:
    struct Thread {
        RangeStack labels;
        RangeStack collections;
        bool has_label = false;  // also after it ended
    };
    std::map<uint16_t, Thread> threads_;
    std::set<uint16_t> labelling_threads_;  // that have a labelling range open
    uint64_t begun_count_ = 0;
};

}  // namespace memsnap
