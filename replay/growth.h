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

namespace memsnap {

// A birth site: a stack token, or where a block has none, its granted size.
struct SiteKey {
    uint64_t site = 0;
    uint64_t granted_bytes = 0;  // 0 with a site
    bool operator==(const SiteKey&) const = default;
};
struct SiteKeyHash {
    size_t operator()(const SiteKey& key) const {
        return key.site * 0x9E3779B97F4A7C15ULL ^ key.granted_bytes;
    }
};
inline SiteKey site_key(uint64_t site, uint64_t granted_bytes) {
    return {site, site == 0 ? granted_bytes : 0};
}

struct GrowthResult {
    Growth growth;
    std::unordered_map<SiteKey, uint64_t, SiteKeyHash> retained_by_site;
};

// kept_since_ticket: of the last caught failure whose scope has ended before this one; blocks born before it
// and still live are counted apart.
GrowthResult measure_growth(const Matched& matched, const Ledger& ledger, int device,
                            std::optional<uint64_t> kept_since_ticket);

// Whether the same request was served within the last five steps.
bool request_repeated(const Matched& matched, const EventStream& events, const Event& failure);

}  // namespace memsnap
