// SPDX-License-Identifier: Apache-2.0
//
// What led to the failing instant, and who held the memory at the peak, as the receipt tells it. The rule:
// sites and phases by ordinal, threads by their order in the list.
#pragma once

#include <vector>

#include "json.h"
#include "peak_sites.h"
#include "receipt_dictionary.h"
#include "trail.h"

namespace memsnap {

// Requested against granted.
Json requests_json(const std::vector<Requests>& devices);
Json peak_sites_json(const std::vector<PeakSites>& peaks, const Dictionary& dictionary);
Json recent_json(const Trail& trail, const Dictionary& dictionary);
Json site_growth_json(const Trail& trail, const Dictionary& dictionary);  // null without two points
Json collections_json(const Trail& trail, const Dictionary& dictionary);
Json dimension_effects_json(const Trail& trail, const Dictionary& dictionary);

}  // namespace memsnap
