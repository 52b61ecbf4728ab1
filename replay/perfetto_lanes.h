// SPDX-License-Identifier: Apache-2.0
//
// Numbers over time, one lane each, and which of their points a trace shows. The rule: a point is a change; a
// lane with too many shows the least and the greatest of each run of them, so no peak is lost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture.h"

namespace memsnap {

enum class Track : uint8_t {
    allocated,
    reserved,
    device_used,
    other_processes,
    failed_request,
};
inline constexpr size_t kTrackCount = 5;
std::string_view name(Track lane);

// Of one device, as the events tell of them.
class TrackValues {
  public:
    // f(Track, value) for each lane that changes.
    template <class F>
    void take(const Event& event, F&& f) {
        for (size_t at = 0; at < kTrackCount; ++at) {
            const auto lane = static_cast<Track>(at);
            const std::optional<uint64_t> told = value(lane, event);
            if (!told || told == values_[at]) continue;
            values_[at] = told;
            f(lane, *told);
        }
    }

  private:
    // nullopt: the event says nothing of it.
    std::optional<uint64_t> value(Track lane, const Event& event) const;

    std::array<std::optional<uint64_t>, kTrackCount> values_;
};

// Which points are shown, found out in two passes over the events.
class TrackPoints {
  public:
    static constexpr uint64_t kPoints_most = 200000;

    explicit TrackPoints(const EventStream& events);

    // Of the next point of the lane.
    bool shows(int device, Track lane);
    // Points that are left out, of all lanes.
    uint64_t left_out_count() const { return left_out_count_; }

  private:
    struct Selection {
        uint64_t point_count = 0;
        uint64_t run_points = 0;  // 0: all are shown
        std::vector<bool> shown;  // by their number
        uint64_t next = 0;
        uint64_t least = 0, greatest = 0;  // of the run so far
        uint64_t least_at = 0, greatest_at = 0;
    };
    Selection& selection(int device, Track lane) {
        return selections_[static_cast<size_t>(device)][static_cast<size_t>(lane)];
    }
    static void select(Selection& selection, uint64_t value);
    static void end_run(Selection& selection);

    std::array<std::array<Selection, kTrackCount>, kDeviceCapacity> selections_;
    uint64_t left_out_count_ = 0;
};

}  // namespace memsnap
