// SPDX-License-Identifier: Apache-2.0
//
// What events say of lanes, and the extremes of runs.
#include "perfetto_lanes.h"

#include "outside.h"

namespace memsnap {
namespace {

template <class F>
void for_each_point(const EventStream& events, F&& f) {
    std::array<TrackValues, kDeviceCapacity> values;
    events.for_each([&](const Event& event) {
        if (event.device >= 0)
            values[static_cast<size_t>(event.device)].take(
                event, [&](Track lane, uint64_t value) { f(event.device, lane, value); });
        return true;
    });
}

bool is_block_event(const Event& event) {
    return event.kind == Kind::block_alloc || event.kind == Kind::block_free;
}

}  // namespace

std::string_view name(Track lane) {
    constexpr std::array<std::string_view, kTrackCount> kNames = {"allocated", "reserved", "device used",
                                                                  "other processes", "failed request"};
    return kNames[static_cast<size_t>(lane)];
}

std::optional<uint64_t> TrackValues::value(Track lane, const Event& event) const {
    switch (lane) {
        case Track::allocated:
            return event.has(kTotals) ? std::optional(event.allocated_bytes) : std::nullopt;
        case Track::reserved:
            return event.has(kTotals) ? std::optional(event.reserved_bytes) : std::nullopt;
        case Track::device_used:
            if (!is_observation(event) || event.device_total_bytes() < event.device_free_bytes())
                return std::nullopt;
            return event.device_total_bytes() - event.device_free_bytes();
        case Track::other_processes:
            if (event.kind != Kind::process_sample || event.has(kUnavailable)) return std::nullopt;
            return event.other_process_bytes();
        case Track::failed_request:
            if (event.kind == Kind::block_oom) return event.size_bytes;
            // Over with the next event of the allocator; a lane without failures stays empty.
            return is_block_event(event) && values_[static_cast<size_t>(lane)] ? std::optional(uint64_t{0})
                                                                               : std::nullopt;
    }
    return std::nullopt;
}

TrackPoints::TrackPoints(const EventStream& events) {
    for_each_point(events, [&](int device, Track lane, uint64_t) { ++selection(device, lane).point_count; });
    bool thins = false;
    for (auto& of_device : selections_) {
        for (Selection& selection : of_device) {
            if (selection.point_count <= kPoints_most) continue;
            selection.run_points = (2 * selection.point_count + kPoints_most - 1) / kPoints_most;
            selection.shown.resize(selection.point_count);
            thins = true;
        }
    }
    if (!thins) return;
    for_each_point(events, [&](int device, Track lane, uint64_t value) {
        Selection& chosen = selection(device, lane);
        if (chosen.run_points != 0) select(chosen, value);
    });
    for (auto& of_device : selections_) {
        for (Selection& selection : of_device) {
            if (selection.run_points == 0) continue;
            end_run(selection);
            selection.shown.front() = selection.shown.back() = true;
            selection.next = 0;
            for (const bool shown : selection.shown)
                left_out_count_ += shown ? 0 : 1;
        }
    }
}

void TrackPoints::select(Selection& selection, uint64_t value) {
    const uint64_t number = selection.next++;
    if (number % selection.run_points == 0) {
        if (number != 0) end_run(selection);
        selection.least = selection.greatest = value;
        selection.least_at = selection.greatest_at = number;
    } else if (value < selection.least) {
        selection.least = value;
        selection.least_at = number;
    } else if (value > selection.greatest) {
        selection.greatest = value;
        selection.greatest_at = number;
    }
}

void TrackPoints::end_run(Selection& selection) {
    selection.shown[selection.least_at] = true;
    selection.shown[selection.greatest_at] = true;
}

bool TrackPoints::shows(int device, Track lane) {
    Selection& of_lane = selection(device, lane);
    return of_lane.run_points == 0 || of_lane.shown[of_lane.next++];
}

}  // namespace memsnap
