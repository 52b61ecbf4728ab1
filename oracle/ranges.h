// SPDX-License-Identifier: Apache-2.0
//
// Ranges of the window (VERDICT.md §2): which one labels a thread at an instant, and whether a collection is
// open. Rule: a thread's ranges are painted over its tickets once, the last begun first; afterwards the
// stretches are only looked up.
#pragma once

#include <map>

#include "recording.h"

namespace oracle {

inline constexpr u16 kFamilyNone = 0;
inline constexpr u16 kFamilyOptimizer = 2;
inline constexpr u16 kFamilyRange = 3;
inline constexpr u16 kFamilyCollection = 5;

struct Range {
    u16 thread = 0;
    u16 family = kFamilyNone;
    u16 folded_name = 0;
    u64 begin = 0;
    u64 end = kNoTicket;  ///< where the window holds it

    bool labels() const {
        return family == kFamilyNone || family == kFamilyOptimizer || family == kFamilyRange;
    }
};

/// By their begin.
std::vector<Range> ranges_of(const Recording& recording);

/// Tickets on which a range is the innermost open one of its thread.
struct Stretch {
    u64 from = 0;
    u64 to = kNoTicket;
    u16 folded_name = 0;
};

/// The stretches of one thread, by ticket and apart from each other.
class Cover {
  public:
    /// `ranges`: of one thread, by their begin.
    explicit Cover(const std::vector<Range>& ranges);

    const std::vector<Stretch>& stretches() const { return stretches_; }
    const Stretch* at(u64 ticket) const;

  private:
    std::vector<Stretch> stretches_;
};

class Labels {
  public:
    explicit Labels(const std::vector<Range>& ranges);

    /// The folded name that labels a birth, 0 without one.
    u16 of_birth(u16 thread, u64 ticket) const;

  private:
    /// How many threads have a labelling range open from a ticket on, and the sum of their stretches'
    /// indices: with one thread the sum is the index.
    struct Tally {
        u64 ticket;
        u64 threads;
        u64 index_sum;
    };
    void tally();

    struct Thread {
        u64 first_begin;
        Cover cover;
    };
    std::map<u16, Thread> threads_;
    std::vector<Stretch> all_;
    std::vector<Tally> tallies_;
};

class Collections {
  public:
    explicit Collections(const std::vector<Range>& ranges);

    bool open_at(u16 thread, u64 ticket) const;

  private:
    std::map<u16, Cover> threads_;
};

}  // namespace oracle
