// SPDX-License-Identifier: Apache-2.0
//
// The last comparable boundaries, their growth, and the steps to the end of the card.
#include "live_trend.h"

#include <algorithm>
#include <span>

#include "policy.h"

namespace memsnap {
namespace {

constexpr size_t kWarmUpSteps_count = 2;

// Boundaries of the family that ended behind the first point, up to the last: points may be some of them.
uint64_t steps_between(const Capture& capture, int device, BoundaryFamily family,
                       const std::vector<MatchedPoint>& points) {
    const auto inside = [&](const Boundary& boundary) {
        return boundary.family == family && boundary.device == device && outermost(boundary) &&
               boundary.ticket > points.front().ticket && boundary.ticket <= points.back().ticket;
    };
    const auto count = static_cast<uint64_t>(std::ranges::count_if(capture.boundaries, inside));
    return count * std::max<uint64_t>(1, capture.header.boundary_stride);
}

uint64_t least_active(std::span<const MatchedPoint> points) {
    return std::ranges::min_element(points, {}, &MatchedPoint::active_bytes)->active_bytes;
}

// Most of the last pairs grew, and what is left at the best of times grew too: a cache that is emptied now
// and then does not.
bool is_growing(const std::vector<MatchedPoint>& points) {
    const std::span all(points);
    return growing_pairs(points) >= policy::kGrowingPairsNeeded_count &&
           least_active(all.last(all.size() / 2)) > least_active(all.first(all.size() / 2));
}

}  // namespace

std::optional<Trend> find_trend(const Capture& capture, int device, std::optional<uint64_t> available_bytes) {
    Matched matched = marked_boundaries(capture.boundaries, device, kNoTicket);
    std::vector<MatchedPoint>& points = matched.points;
    const size_t early =
        std::max(std::min(points.size(), kWarmUpSteps_count),
                 points.size() > kTrendIntervals_most ? points.size() - kTrendIntervals_most - 1 : 0);
    points.erase(points.begin(), points.begin() + static_cast<ptrdiff_t>(early));
    if (points.size() < 2) return std::nullopt;

    Trend trend;
    trend.family = matched.family;
    trend.point_count = points.size();
    trend.step_count = steps_between(capture, device, matched.family, points);
    trend.change_bytes = Wide{points.back().active_bytes} - points.front().active_bytes;
    trend.growing = is_growing(points) && trend.bytes_per_step() > 0;
    const auto& peak = capture.pinned[static_cast<size_t>(device)].peak_allocated;
    const bool recent = peak && peak->ticket >= points.front().ticket;
    trend.level = recent ? TrendLevel::peak : TrendLevel::point;
    if (trend.growing && available_bytes) {
        const Wide left =
            Wide{*available_bytes} - (recent ? peak->allocated_bytes : points.back().active_bytes);
        trend.full_in_steps = static_cast<uint64_t>(std::max(Wide{0}, left) / trend.bytes_per_step());
    }
    return trend;
}

}  // namespace memsnap
