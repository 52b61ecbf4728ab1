// SPDX-License-Identifier: Apache-2.0
//
// What went on up to the failing instant, beside the state at it: the peak, how long blocks lived, and
// whether the device's own answers agree with what was recorded. The rule: fed with every event in ticket
// order and the state after it; nothing in here decides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture.h"
#include "ledger.h"
#include "measure.h"
#include "residual.h"

namespace memsnap {

struct Peak {
    uint64_t active_bytes = 0;
    uint64_t active_ticket = 0;
    std::optional<uint64_t> reserved_bytes;  // as the allocator reported it
    std::optional<uint64_t> reserved_ticket;
    bool at_begin = true;  // no event made active rise above what was live before the first
};

class PeakWatch {
  public:
    // `begin` is the state before the window's first event.
    PeakWatch(const Ledger& begin, uint64_t begin_ticket, int device);

    // Whether the event made a new peak of active bytes.
    bool take(const Event& event, const Ledger& ledger);
    const Peak& peak() const { return peak_; }

  private:
    int device_;
    Peak peak_;
};

// Blocks that were born in the window. Ticks are tickets.
struct Lifetimes {
    uint64_t born_count = 0;
    uint64_t freed_count = 0;
    std::optional<uint64_t> longest_ticks;
    Wide total_ticks = 0;
};

// The device's answers against the sum of everything that this process was seen to hold. What is left over
// belongs to others and to contexts; where two answers leave intervals that do not meet, somebody else or
// something unseen changed.
struct Reconciliation {
    uint64_t observation_count = 0;
    uint64_t mismatch_count = 0;
    std::optional<Wide> largest_difference_bytes;
};

struct History {
    Peak peak;
    Lifetimes lifetimes;
    Reconciliation reconciliation;
};

class HistoryWatch {
  public:
    // After a late start it is not known what is held until the allocator first reports.
    HistoryWatch(uint64_t begin_ticket, int device, bool late_start)
        : begin_ticket_(begin_ticket), device_(device), held_is_known_(!late_start) {}

    void take(const Event& event, const Ledger& ledger, const Change& change);
    const Lifetimes& lifetimes() const { return lifetimes_; }
    const Reconciliation& reconciliation() const { return reconciliation_; }

  private:
    void take_lifetime(const Event& event, const Change& change);
    void take_doubt(const Event& event, const Change& change);
    void take_observation(const Event& event, const Ledger& ledger);

    uint64_t begin_ticket_;
    int device_;
    Lifetimes lifetimes_;
    Reconciliation reconciliation_;
    std::optional<Residual> last_residual_;  // that the next may be compared with
    bool held_is_known_;
};

// What the user noted last under each dimension; dimensions by their first note.
struct Note {
    uint64_t dimension = 0;  // local name id
    int64_t value = 0;
};

std::vector<Note> last_notes(const EventStream& events, uint64_t until_ticket);

}  // namespace memsnap
