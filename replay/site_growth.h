// SPDX-License-Identifier: Apache-2.0
//
// Which sites grew between two matched points of the window. The rule: the first and the last marked point
// with their states still in the window; a state is looked at after the event of its ticket, or after the
// last event before it.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "boundary.h"
#include "ledger.h"
#include "site_key.h"
#include "window.h"

namespace memsnap {

struct SiteGrowthRow {
    SiteKey key;
    uint64_t from_bytes = 0;
    uint64_t to_bytes = 0;
};

struct SiteGrowth {
    uint64_t from_ticket = 0;
    uint64_t to_ticket = 0;
    uint64_t pair_count = 0;
    std::vector<SiteGrowthRow> rows;  // those with the greatest difference
};

class SiteGrowthWatch {
  public:
    // `begin` is the state before the window's first event.
    SiteGrowthWatch(const Window& window, const Ledger& begin, const Matched& marked, int device);

    // After each event.
    void take(const Event& event, const Ledger& ledger) {
        while (looks_.size() < due_.size() && due_[looks_.size()] == event.ticket)
            look(ledger);
    }
    std::optional<SiteGrowth> growth() const;

  private:
    struct Side {
        uint64_t bytes = 0;
        uint64_t oldest_ticket = kNoTicket;
        uint64_t oldest_address = ~uint64_t{0};
    };
    using Sides = std::unordered_map<SiteKey, Side, SiteKeyHash>;

    void look(const Ledger& ledger);

    int device_;
    std::optional<SiteGrowth> frame_;  // without rows
    std::vector<uint64_t> due_;        // events to look after; kNoTicket: the begin
    std::vector<Sides> looks_;
};

}  // namespace memsnap
