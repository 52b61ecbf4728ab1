// SPDX-License-Identifier: Apache-2.0
//
// No failure: the shape of each lane (VERDICT.md §13). Rule: a shape describes numbers; it is never printed
// as a cause.
#include <set>

#include "case.h"
#include "thresholds.h"

namespace oracle {
namespace {

using namespace thresholds;

struct Lane {
    std::vector<Int> values;
    std::optional<Int> exact_peak;

    Int rise() const { return values.back() - values.front(); }
    std::optional<Int> max() const {
        if (values.empty()) return exact_peak;
        return std::max(*std::max_element(values.begin(), values.end()), exact_peak.value_or(0));
    }
};

// Whether outside rose by the threshold over enough observations in a row, each above the one before, while
// reserved did not.
bool rose_alone(const Lane& outside, const std::vector<Int>& reserved, Int threshold) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < outside.values.size(); ++i) {
        if (outside.values[i] <= outside.values[i - 1]) {
            first = i;
        } else if (i - first + 1 >= kRiseObservations &&
                   outside.values[i] - outside.values[first] >= threshold &&
                   reserved[i] - reserved[first] < threshold) {
            return true;
        }
    }
    return false;
}

Json lane_document(const Lane& lane, std::string_view own_shape, bool has_own_shape,
                   std::optional<Int> threshold) {
    if (lane.values.empty())
        return Json::Object{{"shape", "unknown"},
                            {"first_bytes", Json()},
                            {"last_bytes", Json()},
                            {"max_bytes", lane.max()},
                            {"point_count", 0}};
    std::string_view shape = "unknown";
    if (threshold) {
        bool peak = *lane.max() - lane.values.back() >= *threshold && lane.rise() < *threshold;
        shape = has_own_shape ? own_shape : peak ? "peak" : "flat";
    }
    return Json::Object{{"shape", shape},
                        {"first_bytes", lane.values.front()},
                        {"last_bytes", lane.values.back()},
                        {"max_bytes", lane.max()},
                        {"point_count", u64{lane.values.size()}}};
}

std::optional<Int> total_of(const Recording& recording, int device) {
    std::optional<Int> total;
    for (const auto& event : recording.events) {
        if (event.kind == kMemInfo && is_observation(event, device)) total = event.size;
    }
    const auto* pinned = recording.pinned_of(device);
    if (!total && pinned != nullptr && pinned->last_observation &&
        is_observation(*pinned->last_observation, device))
        total = pinned->last_observation->size;
    return total;
}

Json shape_of_device(const Case& c, int device) {
    const auto& recording = c.ring.recording;
    auto points = points_of(c.ring, device, recording.end);
    auto total = total_of(recording, device);
    const auto* pinned = recording.pinned_of(device);
    std::optional<Int> threshold;
    if (total) threshold = *total * kThresholdPerMille / kPerMille;

    Lane active, reserved, outside;
    std::vector<Int> reserved_beside;
    for (const auto& point : points.list) {
        active.values.push_back(point.active_bytes);
        reserved.values.push_back(point.reserved_bytes);
    }
    auto tells = [&](const Event& event) {
        return is_observation(event, device) && !is_untold(c.file, event);
    };
    if (pinned != nullptr) {
        for (const auto& sample : pinned->samples) {
            if (!tells(sample)) continue;
            outside.values.push_back(outside_of(sample));
            reserved_beside.push_back(sample.has_totals() ? sample.reserved_bytes : 0);
        }
        if (pinned->peak_allocated) active.exact_peak = pinned->peak_allocated->allocated_bytes;
        if (pinned->peak_reserved) reserved.exact_peak = pinned->peak_reserved->reserved_bytes;
        if (pinned->peak_outside && tells(*pinned->peak_outside))
            outside.exact_peak = outside_of(*pinned->peak_outside);
    }
    if (outside.values.empty() && total) {
        for (const auto& point : points.list) {
            if (!point.device_free_bytes) continue;
            outside.values.push_back(less(less(*total, *point.device_free_bytes), point.reserved_bytes));
            reserved_beside.push_back(point.reserved_bytes);
        }
    }
    bool staircase = threshold && points.list.size() >= kBoundariesNeeded &&
                     points.growing_pairs() >= kGrowingPairsNeeded && active.rise() >= *threshold;
    bool growth =
        threshold && !reserved.values.empty() && reserved.rise() >= *threshold && active.rise() < *threshold;
    bool device_rise = threshold && rose_alone(outside, reserved_beside, *threshold);
    return Json::Object{{"device", device},
                        {"total_bytes", total},
                        {"boundaries", basis_name(points.basis)},
                        {"active", lane_document(active, "staircase", staircase, threshold)},
                        {"reserved", lane_document(reserved, "reserved_growth", growth, threshold)},
                        {"outside", lane_document(outside, "device_rise", device_rise, threshold)}};
}

}  // namespace

std::vector<int> devices_with_shapes(const Case& c, const std::optional<int>& only) {
    std::set<int> devices;
    for (const auto& event : c.ring.recording.events) {
        if (event.is_report()) devices.insert(event.device);
    }
    for (const auto& life : c.ring.lives) {
        if (life.object == kBlock && life.death == kNoTicket) devices.insert(life.device);
    }
    for (const auto& region : c.ring.regions.all) {
        const Status status = region.status_at(kNoTicket - 1);
        const bool cached = status == Status::kSegment || status == Status::kCandidate;
        if (cached && region.death == kNoTicket) devices.insert(region.device);
    }
    std::vector<int> list;
    for (int device : devices) {
        if (device >= 0 && (!only || *only == device)) list.push_back(device);
    }
    return list;
}

Json shapes_of(const Case& c, const std::optional<int>& only) {
    Json::Array list;
    for (int device : devices_with_shapes(c, only))
        list.push_back(shape_of_device(c, device));
    return list;
}

}  // namespace oracle
