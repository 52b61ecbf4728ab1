// SPDX-License-Identifier: Apache-2.0
//
// What earlier steps left behind: live bytes at the failing instant whose birth sites left survivors in
// several different steps. The rule: warm-up and the last steps are not judged, and what a caught failure
// still holds is not retention.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "boundary.h"
#include "evidence.h"
#include "ledger.h"
#include "site_key.h"
#include "survivors.h"

namespace memsnap {

struct GrowthResult {
    Growth growth;
    std::unordered_map<SiteKey, uint64_t, SiteKeyHash> retained_by_site;
    std::vector<SurvivorSite> survivors;  // by key, without what lives of the site in all
};

// births_known_from_ticket: when older blocks were born nobody knows; 0: all births are known.
// kept_since_ticket: of the last caught failure whose scope has ended before this one; blocks born before it
// and still live are counted apart.
GrowthResult measure_growth(const Matched& matched, const Ledger& ledger, int device,
                            uint64_t births_known_from_ticket, std::optional<uint64_t> kept_since_ticket);

// Whether the same request was served within the last five steps.
bool request_repeated(const Matched& matched, const EventStream& events, const Event& failure);

}  // namespace memsnap
