// SPDX-License-Identifier: Apache-2.0
//
// Retained bytes Q (VERDICT.md §7). Rule: a survivor counts when its site left survivors in at least three
// steps.
#pragma once

#include <map>

#include "failures.h"
#include "points.h"

namespace oracle {

struct Growth {
    Points points;
    std::size_t growing_pairs = 0;
    Int retained_bytes = 0;
    bool retained_is_bound = false;
    Int kept_since_failure_bytes = 0;
    bool request_repeated = false;
    std::map<Site, Int> retained_by_site;
};

Growth growth_at(const Scene& scene, const Failures& failures, const Failed& failed, Int direct_bytes);

}  // namespace oracle
