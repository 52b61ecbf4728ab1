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

namespace memsnap {

struct Peak {
    uint64_t active_bytes = 0;
    uint64_t active_ticket = 0;
    std::optional<uint64_t> reserved_bytes;  // as the allocator reported it
    std::optional<uint64_t> reserved_ticket;
};

// Blocks that were born in the window. Ticks are tickets.
struct Lifetimes {
    uint64_t born_count = 0;
    uint64_t freed_count = 0;
    std::optional<uint64_t> longest_ticks;
    Wide total_ticks = 0;
};

// The device's answers against the sum of everything that this process was seen to hold. What is left over
// belongs to others and to contexts; where it changes, somebody else or something unseen changed.
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
    // `begin` is the state before the window's first event.
    HistoryWatch(const Ledger& begin, uint64_t begin_ticket, int device);

    void take(const Event& event, const Ledger& ledger, const Change& change);
    const History& history() const { return history_; }

  private:
    void take_peak(const Event& event, const Ledger& ledger);
    void take_lifetime(const Event& event, const Change& change);
    void take_observation(const Event& event, const Ledger& ledger);
    Wide held_bytes(const Ledger& ledger);

    uint64_t begin_ticket_;
    int device_;
    History history_;
    std::optional<Wide> last_residual_bytes_;
    std::optional<uint64_t> foreign_version_;  // of the ledger's objects that the sum is of
    Wide foreign_bytes_ = 0;
};

// What the user noted last under each dimension; dimensions by their first note.
struct Note {
    uint64_t dimension = 0;  // local name id
    int64_t value = 0;
};

std::vector<Note> last_notes(const EventStream& events, uint64_t until_ticket);

}  // namespace memsnap
