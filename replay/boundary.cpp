// SPDX-License-Identifier: Apache-2.0
//
// Families of marked boundaries.
#include "boundary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "policy.h"

namespace memsnap {
namespace {

// Boundaries that may be compared with one another.
struct Group {
    uint64_t covered_tickets = 0;  // by ranges of its thread
    uint64_t first_ticket = kNoTicket;
    std::vector<MatchedPoint> points;
};

// Ranges are told apart by folded name and thread, modules by calling site (their name); steps by nothing.
using Key = std::tuple<uint16_t, uint16_t, uint32_t>;  // thread, folded name, dimensions

Key key_of(const Boundary& boundary) {
    switch (boundary.family) {
        case BoundaryFamily::range:
            return {boundary.thread, boundary.folded_name, boundary.dimensions};
        case BoundaryFamily::module:
            return {0, boundary.folded_name, boundary.dimensions};
        case BoundaryFamily::none:
        case BoundaryFamily::step:
        case BoundaryFamily::optimizer:
            return {0, 0, boundary.dimensions};
    }
    return {};
}

// The thread whose outermost ranges cover most events; the earlier one on a tie.
uint16_t covering_thread(const std::vector<const Boundary*>& ranges) {
    std::map<uint16_t, std::pair<uint64_t, uint64_t>> covered;  // thread -> tickets, first ticket
    for (const Boundary* range : ranges) {
        auto [found, fresh] = covered.try_emplace(range->thread, 0, range->ticket);
        if (range->opened_ticket < range->ticket) found->second.first += range->ticket - range->opened_ticket;
        found->second.second = std::min(found->second.second, range->ticket);
    }
    const auto best = std::ranges::max_element(covered, [](const auto& a, const auto& b) {
        if (a.second.first != b.second.first) return a.second.first < b.second.first;
        return a.second.second > b.second.second;
    });
    return best == covered.end() ? uint16_t{0} : best->first;
}

// The group with most boundaries; on a tie the one that covers more, then the earlier.
std::vector<MatchedPoint> best_group(const std::vector<const Boundary*>& members) {
    std::map<Key, Group> groups;
    for (const Boundary* boundary : members) {
        Group& group = groups[key_of(*boundary)];
        if (boundary->opened_ticket < boundary->ticket) {
            group.covered_tickets += boundary->ticket - boundary->opened_ticket;
        }
        group.first_ticket = std::min(group.first_ticket, boundary->ticket);
        group.points.push_back({boundary->ticket, boundary->allocated_bytes, boundary->reserved_bytes,
                                boundary->device_free_bytes});
    }
    const auto best = std::ranges::max_element(groups, [](const auto& a, const auto& b) {
        const Group& left = a.second;
        const Group& right = b.second;
        if (left.points.size() != right.points.size()) return left.points.size() < right.points.size();
        if (left.covered_tickets != right.covered_tickets)
            return left.covered_tickets < right.covered_tickets;
        return left.first_ticket > right.first_ticket;
    });
    if (best == groups.end()) return {};
    std::ranges::sort(best->second.points, {}, &MatchedPoint::ticket);
    return std::move(best->second.points);
}

std::vector<MatchedPoint> family_points(const std::vector<Boundary>& boundaries, BoundaryFamily family,
                                        int device, uint64_t until_ticket) {
    std::vector<const Boundary*> members;
    for (const Boundary& boundary : boundaries) {
        const bool member = boundary.family == family && boundary.device == device &&
                            boundary.ticket <= until_ticket && outermost(boundary);
        if (member) members.push_back(&boundary);
    }
    if (family == BoundaryFamily::range) {
        const uint16_t thread = covering_thread(members);
        std::erase_if(members, [thread](const Boundary* range) { return range->thread != thread; });
    }
    return best_group(members);
}

// Of the last five pairs of points so far apart, how many grew.
uint64_t growing_at(const std::vector<MatchedPoint>& points, size_t spacing) {
    const size_t pairs = std::min<size_t>(policy::kComparedPairs_count, (points.size() - 1) / spacing);
    uint64_t growing = 0;
    for (size_t pair = 0; pair < pairs; ++pair) {
        const size_t later = points.size() - 1 - pair * spacing;
        if (points[later].active_bytes > points[later - spacing].active_bytes) ++growing;
    }
    return growing;
}

}  // namespace

bool outermost(const Boundary& boundary) {
    return boundary.family != BoundaryFamily::range || boundary.depth == 0;
}

Matched marked_boundaries(const std::vector<Boundary>& boundaries, int device, uint64_t until_ticket) {
    Matched most;
    for (const BoundaryFamily family :
         {BoundaryFamily::step, BoundaryFamily::optimizer, BoundaryFamily::range, BoundaryFamily::module}) {
        std::vector<MatchedPoint> points = family_points(boundaries, family, device, until_ticket);
        if (points.size() >= policy::kBoundariesNeeded_count) {
            return {GrowthBasis::marked, family, std::move(points)};
        }
        if (points.size() > most.points.size()) {
            most = {GrowthBasis::too_few, family, std::move(points)};
        }
    }
    return most;
}

size_t pair_spacing(size_t point_count) {
    if (point_count < policy::kSpacedPairsBoundaries_count) return 1;
    return (point_count - 1) / policy::kPairSpacingDivisor;
}

uint64_t growing_pairs(const std::vector<MatchedPoint>& points) {
    if (points.size() < 2) return 0;
    return std::max(growing_at(points, 1), growing_at(points, pair_spacing(points.size())));
}

}  // namespace memsnap
