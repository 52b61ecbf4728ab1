// SPDX-License-Identifier: Apache-2.0
//
// Chooses among the marked boundaries. Rule: families in their order; within one, equivalent boundaries form
// groups and the largest group counts.
#include "points.h"

#include <map>
#include <set>

#include "thresholds.h"

namespace oracle {
namespace {

using Group = std::vector<const Boundary*>;

Int covered_tickets(const Group& group) {
    Int sum = 0;
    for (const auto* boundary : group) {
        if (boundary->opened != kNoTicket) sum += less(boundary->closed, boundary->opened);
    }
    return sum;
}

// Groups are made in the order of their first boundary, so "the earlier first" is "the one seen first".
template <typename KeyOf>
std::vector<Group> grouped(const Group& all, KeyOf key_of) {
    std::vector<Group> groups;
    std::map<decltype(key_of(*all.front())), std::size_t> index;
    for (const auto* boundary : all) {
        auto [at, added] = index.try_emplace(key_of(*boundary), groups.size());
        if (added) groups.emplace_back();
        groups[at->second].push_back(boundary);
    }
    return groups;
}

Group best_of_family(const File& file, int device, u64 ticket, Family family) {
    Group all;
    for (const auto& boundary : file.boundaries) {
        bool fits = boundary.device == device && boundary.closed <= ticket &&
                    boundary.family == static_cast<u8>(family);
        if (fits && (family != Family::kRange || boundary.depth == 0)) all.push_back(&boundary);
    }
    if (all.empty()) return all;
    if (family == Family::kRange) {
        auto threads = grouped(all, [](const Boundary& boundary) { return boundary.thread; });
        const Group* best = &threads.front();
        for (const auto& thread : threads) {
            if (covered_tickets(thread) > covered_tickets(*best)) best = &thread;
        }
        all = Group(*best);
    }
    bool named = family == Family::kRange || family == Family::kModule;
    auto groups = grouped(all, [&](const Boundary& boundary) {
        return std::pair(boundary.dimensions, named ? boundary.folded_name : u16{0});
    });
    const Group* best = &groups.front();
    for (const auto& group : groups) {
        if (std::pair(Int(group.size()), covered_tickets(group)) >
            std::pair(Int(best->size()), covered_tickets(*best)))
            best = &group;
    }
    return Group(*best);
}

std::vector<Point> as_points(const Group& group) {
    std::vector<Point> points;
    for (const auto* boundary : group) {
        Point point{boundary->closed, boundary->allocated_bytes, boundary->reserved_bytes, {}};
        if (boundary->device_free_bytes) point.device_free_bytes = Int{*boundary->device_free_bytes};
        points.push_back(point);
    }
    return points;
}

}  // namespace

std::size_t Points::growing_pairs() const {
    std::size_t most = 0;
    std::set<std::size_t> distances{1};
    if (list.size() >= thresholds::kSpacedPairsNeed)
        distances.insert((list.size() - 1) / thresholds::kSpacingDivisor);
    for (std::size_t distance : distances) {
        std::size_t growing = 0, compared = 0;
        // Backwards from the last point; `end` counts the points up to the later one of a pair.
        for (std::size_t end = list.size(); end > distance && compared < thresholds::kComparedPairs;
             end -= distance, ++compared)
            growing += list[end - 1].active_bytes > list[end - 1 - distance].active_bytes ? 1 : 0;
        most = std::max(most, growing);
    }
    return most;
}

Points marked_points(const File& file, int device, u64 ticket) {
    Points most;
    for (auto family : {Family::kStep, Family::kOptimizer, Family::kRange, Family::kModule}) {
        auto group = best_of_family(file, device, ticket, family);
        if (group.size() >= thresholds::kBoundariesNeeded)
            return {Basis::kMarked, family, family, as_points(group)};
        if (group.size() > most.list.size()) most = {Basis::kTooFew, family, family, as_points(group)};
    }
    return most;
}

Points points_of(const Scene& scene, int device, u64 ticket) {
    auto most = marked_points(*scene.recording.file, device, ticket);
    if (most.basis == Basis::kMarked) return most;
    if (scene.recording.from_keyframe) {
        most.basis = Basis::kLapped;
        return most;
    }
    auto inferred = infer_points(scene, device, ticket);
    if (!inferred) return most;
    inferred->told_family = most.family;
    return *inferred;
}

}  // namespace oracle
