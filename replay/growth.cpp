// SPDX-License-Identifier: Apache-2.0
//
// Survivors by site and step.
#include "growth.h"

#include <algorithm>
#include <vector>

#include "policy.h"

namespace memsnap {
namespace {

// j with b_j < ticket <= b_(j+1), boundaries counted from 1; 0: before the first.
size_t step_of(const std::vector<MatchedPoint>& points, uint64_t ticket) {
    const auto after = std::ranges::lower_bound(points, ticket, {}, &MatchedPoint::ticket);
    return static_cast<size_t>(after - points.begin());
}

// Of Q_max: what was born after the first boundary, everything when there is none.
uint64_t born_after_first(const Matched& matched, const Ledger& ledger, int device, uint64_t known_from) {
    uint64_t bytes = 0;
    ledger.for_each_block(device, [&](const Block& block) {
        if (block.birth_ticket < known_from) return;
        if (matched.points.empty() || block.birth_ticket > matched.points.front().ticket)
            bytes += block.size_bytes;
    });
    return bytes;
}

}  // namespace

GrowthResult measure_growth(const Matched& matched, const Ledger& ledger, int device,
                            uint64_t births_known_from_ticket, std::optional<uint64_t> kept_since_ticket) {
    GrowthResult result;
    Growth& growth = result.growth;
    growth.basis = matched.basis;
    growth.module_calls = matched.family == BoundaryFamily::module;
    growth.boundary_count = matched.points.size();
    growth.growing_pairs_count = growing_pairs(matched.points);
    growth.births_known_from_ticket = births_known_from_ticket;
    ledger.for_each_block(device, [&](const Block& block) {
        if (block.birth_ticket < births_known_from_ticket) growth.unknown_births += block.size_bytes;
    });
    if (matched.basis == GrowthBasis::too_few || matched.basis == GrowthBasis::lapped) {
        growth.retained = born_after_first(matched, ledger, device, births_known_from_ticket);
        return result;
    }
    const size_t last_judged = matched.points.size() - 2;
    SurvivorTable survivors;
    ledger.for_each_block(device, [&](const Block& block) {
        if (block.birth_ticket < births_known_from_ticket) return;
        const size_t step = step_of(matched.points, block.birth_ticket);
        if (step < 2 || step > last_judged) return;
        if (kept_since_ticket && block.birth_ticket < *kept_since_ticket) {
            growth.kept_since_failure += block.size_bytes;
            return;
        }
        survivors.add(block, step);
    });
    result.survivors = survivors.sites(matched.points.size() - 3);
    if (growth.growing_pairs_count < policy::kGrowingPairsNeeded_count) return result;
    for (const SurvivorSite& site : result.survivors) {
        growth.retained += site.bytes;
        result.retained_by_site.emplace(site.key, site.bytes);
    }
    return result;
}

bool request_repeated(const Matched& matched, const EventStream& events, const Event& failure) {
    const std::vector<MatchedPoint>& points = matched.points;
    if (points.size() < policy::kBoundariesNeeded_count) return false;
    const uint64_t from = points[points.size() - policy::kBoundariesNeeded_count].ticket;
    const uint64_t to = points.back().ticket;
    bool repeated = false;
    events.for_each(std::max(from, events.begin_ticket()), to, [&](const Event& event) {
        repeated = event.kind == Kind::block_alloc && event.device == failure.device &&
                   event.size_bytes == failure.size_bytes && event.site() == failure.site();
        return !repeated;
    });
    return repeated;
}

}  // namespace memsnap
