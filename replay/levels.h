// SPDX-License-Identifier: Apache-2.0
//
// Lanes of a whole window in a bounded number of runs of neighbouring events. The rule: the least and the
// greatest value after any event of a run are kept, so no peak is lost; a lane is empty where nothing was
// known.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "anchor.h"
#include "carried.h"
#include "event.h"
#include "ledger.h"
#include "window.h"

namespace memsnap {

enum class LevelLane : uint8_t {
    active,    // live and deferred blocks
    reserved,  // held by PyTorch's allocator
    used,      // of the card, by the last answer of the device
    own_outside,
    other_processes,
    unattributed,
};
inline constexpr size_t kLevelLaneCount = 6;
std::string_view name(LevelLane lane);

inline constexpr size_t kLevelRuns_most = 2048;

// Of one lane in one run. A value beyond 64 bits is not known.
struct LaneRange {
    int64_t least = 0, greatest = 0;
    int64_t last = 0;  // after the run's last event that it was known after
    bool known = false;

    void add(int64_t value) { add({value, value, value, true}); }
    // What follows.
    void add(const LaneRange& more) {
        if (!more.known) return;
        least = known ? std::min(least, more.least) : more.least;
        greatest = known ? std::max(greatest, more.greatest) : more.greatest;
        last = more.last;
        known = true;
    }
    bool operator==(const LaneRange&) const = default;
};
using LaneRanges = std::array<LaneRange, kLevelLaneCount>;

struct LevelRun {
    uint64_t first_ticket = 0, last_ticket = 0;
    uint64_t first_counter = 0, last_counter = 0;  // raw times of the two events
    uint64_t event_count = 0;

    bool operator==(const LevelRun&) const = default;
};

struct DeviceLevels {
    int device = -1;
    std::vector<LaneRanges> ranges;  // by run

    const LaneRange& of(size_t run, LevelLane lane) const { return ranges[run][static_cast<size_t>(lane)]; }
};

struct Levels {
    std::vector<LevelRun> runs;         // in ticket order; no two differ by more than one event
    std::vector<DeviceLevels> devices;  // that the window tells of, ascending

    const DeviceLevels* of(int device) const;
};

// The same in at most so many columns of neighbouring runs.
Levels merged(const Levels& levels, size_t columns_most);

// Fed with every event of the window in ticket order, and the state after it.
class LevelsWatch {
  public:
    // `begin` is the state before the window's first event.
    LevelsWatch(const Window& window, const Ledger& begin, size_t runs_most = kLevelRuns_most);

    void take(const Event& event, const Ledger& ledger);
    Levels levels();

  private:
    using Values = std::array<std::optional<int64_t>, kLevelLaneCount>;

    void begin_run(const Event& event);
    void tell_of(int device);
    Values values_of(size_t device, const Ledger& ledger) const;
    static void add(const Values& values, LaneRanges& ranges);
    void take_untold();
    void settle();

    uint64_t event_count_;  // of the window
    size_t run_count_;
    uint64_t taken_count_ = 0;
    uint64_t run_ends_at_ = 0;  // in events taken
    uint32_t told_ = 0;         // one bit a device
    std::vector<LevelRun> runs_;
    std::array<std::vector<LaneRanges>, kDeviceCapacity> ranges_;
    std::vector<LaneRanges> untold_;  // of a device that nothing was told of by then
    std::array<AnchorLog, kDeviceCapacity> anchors_;
    // What a source tells of before its first event is one state: the one after the last such event.
    std::array<Values, kDeviceCapacity> found_ = {};
    bool finding_ = false;
};

}  // namespace memsnap
