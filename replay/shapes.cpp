// SPDX-License-Identifier: Apache-2.0
//
// Lanes over matched points, with exact peaks from the pinned facts.
#include "shapes.h"

#include <algorithm>
#include <vector>

#include "outside.h"
#include "policy.h"

namespace memsnap {
namespace {

struct Level {
    Wide outside = 0;
    Wide reserved = 0;
};

Lane lane_of(const std::vector<uint64_t>& values, std::optional<uint64_t> peak) {
    Lane lane;
    lane.point_count = values.size();
    if (peak) lane.max_bytes = *peak;
    if (values.empty()) return lane;
    lane.first_bytes = values.front();
    lane.last_bytes = values.back();
    lane.max_bytes = std::max(std::ranges::max(values), peak.value_or(0));
    return lane;
}

Wide rise(const Lane& lane) {
    return Wide{*lane.last_bytes} - Wide{*lane.first_bytes};
}

Shape peak_or_flat(const Lane& lane, Wide threshold) {
    const bool peak = Wide{*lane.max_bytes} - Wide{*lane.last_bytes} >= threshold && rise(lane) < threshold;
    return peak ? Shape::peak : Shape::flat;
}

bool staircase(const std::vector<MatchedPoint>& points, const Lane& active, Wide threshold) {
    return points.size() >= policy::kBoundariesNeeded_count &&
           growing_pairs(points) >= policy::kGrowingPairsNeeded_count && rise(active) >= threshold;
}

// Observations of the device: its samples, else what the boundaries noted.
std::vector<Level> levels_of(const Matched& matched, const PinnedDevice& pinned, Wide total,
                             bool late_start) {
    std::vector<Level> levels;
    for (const Event& sample : pinned.samples) {
        if (!tells_outside(sample, late_start)) continue;
        levels.push_back(
            {Wide{outside_bytes(sample)}, Wide{sample.has(kTotals) ? sample.reserved_bytes : 0}});
    }
    if (!levels.empty()) return levels;
    for (const MatchedPoint& point : matched.points) {
        if (!point.device_free_bytes) continue;
        const Wide outside = total - Wide{*point.device_free_bytes} - Wide{point.reserved_bytes};
        levels.push_back({std::max(Wide{0}, outside), Wide{point.reserved_bytes}});
    }
    return levels;
}

bool device_rise(const std::vector<Level>& levels, Wide threshold) {
    size_t begin = 0;
    for (size_t index = 1; index < levels.size(); ++index) {
        if (levels[index].outside <= levels[index - 1].outside) begin = index;
        const bool enough = index - begin + 1 >= policy::kDeviceRiseObservations_count;
        const bool rises = levels[index].outside - levels[begin].outside >= threshold;
        if (enough && rises && levels[index].reserved - levels[begin].reserved < threshold) return true;
    }
    return false;
}

}  // namespace

std::string_view name(Shape shape) {
    switch (shape) {
        case Shape::unknown:
            return "unknown";
        case Shape::flat:
            return "flat";
        case Shape::peak:
            return "peak";
        case Shape::staircase:
            return "staircase";
        case Shape::reserved_growth:
            return "reserved_growth";
        case Shape::device_rise:
            return "device_rise";
    }
    return "";
}

DeviceShapes find_shapes(int device, const Matched& matched, const PinnedDevice& pinned,
                         std::optional<uint64_t> total_bytes, bool late_start) {
    DeviceShapes shapes;
    shapes.device = device;
    shapes.total_bytes = total_bytes;
    shapes.basis = matched.basis;
    std::vector<uint64_t> active;
    std::vector<uint64_t> reserved;
    for (const MatchedPoint& point : matched.points) {
        active.push_back(point.active_bytes);
        reserved.push_back(point.reserved_bytes);
    }
    const auto peak = [](const std::optional<Event>& event, uint64_t Event::*member) {
        return event ? std::optional(*event.*member) : std::nullopt;
    };
    shapes.active = lane_of(active, peak(pinned.peak_allocated, &Event::allocated_bytes));
    shapes.reserved = lane_of(reserved, peak(pinned.peak_reserved, &Event::reserved_bytes));
    if (!total_bytes) return shapes;
    const Wide total = *total_bytes;
    std::vector<uint64_t> outside;
    const std::vector<Level> levels = levels_of(matched, pinned, total, late_start);
    for (const Level& level : levels)
        outside.push_back(static_cast<uint64_t>(level.outside));
    shapes.outside = lane_of(outside, told_outside_bytes(pinned.peak_outside, late_start));
    const Wide threshold = total * Wide{policy::kThreshold_permille} / 1000;
    if (!levels.empty()) {
        shapes.outside.shape =
            device_rise(levels, threshold) ? Shape::device_rise : peak_or_flat(shapes.outside, threshold);
    }
    if (matched.points.empty()) return shapes;
    shapes.active.shape = staircase(matched.points, shapes.active, threshold)
                              ? Shape::staircase
                              : peak_or_flat(shapes.active, threshold);
    const bool reserved_alone = rise(shapes.reserved) >= threshold && rise(shapes.active) < threshold;
    shapes.reserved.shape =
        reserved_alone ? Shape::reserved_growth : peak_or_flat(shapes.reserved, threshold);
    return shapes;
}

}  // namespace memsnap
