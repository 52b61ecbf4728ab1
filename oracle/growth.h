// SPDX-License-Identifier: Apache-2.0
//
// Survivor sites and retained bytes Q (VERDICT.md §7). Rule: a survivor counts when its site left survivors
// in at least three steps.
#pragma once

#include <map>
#include <set>

#include "failures.h"
#include "points.h"

namespace oracle {

/// What a site left behind.
struct Survivors {
    std::set<std::size_t> steps;
    Int bytes = 0;
    u64 block_count = 0;
    const Life* oldest = nullptr;
    u64 least_bytes = kNoTicket, greatest_bytes = 0;
    Int live_bytes = 0;  ///< everything of the site that is live at the failure
};

struct Growth {
    Points points;
    std::size_t growing_pairs = 0;
    Int retained_bytes = 0;
    bool retained_is_bound = false;
    u64 births_known_from = 0;    ///< ticket; 0: all are known
    Int unknown_birth_bytes = 0;  ///< after a late start: live, and nobody knows since when
    Int kept_since_failure_bytes = 0;
    bool request_repeated = false;
    std::map<Site, Survivors> survivors;  ///< of the sites that count, whether active grows or not
    std::size_t judged_steps = 0;
    bool grows = false;  ///< enough of the last pairs grow: the survivors are retained

    Int retained_of(const Site& site) const {
        auto found = survivors.find(site);
        return grows && found != survivors.end() ? found->second.bytes : 0;
    }
};

Growth growth_at(const Scene& scene, const Failures& failures, const Failed& failed, Int direct_bytes);

}  // namespace oracle
