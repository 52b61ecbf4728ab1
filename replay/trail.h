// SPDX-License-Identifier: Apache-2.0
//
// What led to the failing instant, by birth site and by step: the last allocations, growth between points,
// cyclic garbage, and what the noted dimensions had to do with it. The rule: fed with every event in ticket
// order and the state after it; nothing in here decides.
#pragma once

#include <optional>
#include <vector>

#include "boundary.h"
#include "capture.h"
#include "collections.h"
#include "dimension_effects.h"
#include "ledger.h"
#include "recent.h"
#include "site_growth.h"

namespace memsnap {

struct Trail {
    std::vector<RecentBirth> recent;
    std::optional<SiteGrowth> site_growth;
    Collections collections;
    std::vector<DimensionEffect> dimension_effects;
};

class TrailWatch {
  public:
    // `begin` is the state before the window's first event; `marked` the marked boundaries up to the failure.
    TrailWatch(const Capture& capture, const Window& window, const Ledger& begin, const Matched& marked,
               const Event& failure);

    void take(const Event& event, const Ledger& ledger, const Change& change);
    // `ledger` is the state at the failing instant.
    Trail trail(const Ledger& ledger);

  private:
    int device_;
    uint64_t failure_ticket_;
    RecentLog recent_;
    SiteGrowthWatch site_growth_;
    CollectionWatch collections_;
    DimensionWatch dimensions_;
};

}  // namespace memsnap
