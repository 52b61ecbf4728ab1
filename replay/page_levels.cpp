// SPDX-License-Identifier: Apache-2.0
//
// Cells of the runs, device after device.
#include "page_levels.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace memsnap {
namespace {

constexpr std::string_view kEnds[] = {"least", "greatest", "last"};

// Of the columns, in the order of cells_of().
const std::vector<PageColumn>& columns() {
    static const std::vector<std::string> lanes = [] {
        std::vector<std::string> names;
        for (size_t lane = 0; lane < kLevelLaneCount; ++lane) {
            for (const std::string_view end : kEnds)
                names.push_back(fmt::format("{}_{}", name(static_cast<LevelLane>(lane)), end));
        }
        return names;
    }();
    static const std::vector<PageColumn> list = [] {
        std::vector<PageColumn> made = {
            {"device", Coding::runs},      {"first_ticket", Coding::device}, {"last_ticket", Coding::device},
            {"event_count", Coding::runs}, {"first_ns", Coding::device},     {"last_ns", Coding::device},
        };
        for (const std::string& lane : lanes)
            made.push_back({lane, Coding::device});
        return made;
    }();
    return list;
}

class RunTimes {
  public:
    RunTimes(const Capture& capture, const Levels& levels) : capture_(capture) {
        if (!levels.runs.empty()) begin_ns_ = capture.monotonic_ns(levels.runs.front().first_counter);
    }
    // Since the first event; may be before it, as threads are not of one clock.
    PageCell at(uint64_t counter) const {
        const auto now_ns = capture_.monotonic_ns(counter);
        if (!begin_ns_ || !now_ns) return {};
        return Wide{*now_ns} - *begin_ns_;
    }

  private:
    const Capture& capture_;
    std::optional<uint64_t> begin_ns_;
};

}  // namespace

PageTable page_levels(const Capture& capture, const Levels& levels) {
    PageTable table(columns(), {});
    const RunTimes times(capture, levels);
    std::vector<PageCell> cells;
    for (const DeviceLevels& device : levels.devices) {
        for (size_t run = 0; run < levels.runs.size(); ++run) {
            const LevelRun& facts = levels.runs[run];
            cells = {PageCell(device.device),       PageCell(facts.first_ticket),
                     PageCell(facts.last_ticket),   PageCell(facts.event_count),
                     times.at(facts.first_counter), times.at(facts.last_counter)};
            for (const LaneRange& lane : device.ranges[run]) {
                for (const int64_t value : {lane.least, lane.greatest, lane.last})
                    cells.push_back(lane.known ? PageCell(value) : PageCell());
            }
            PageRow row;
            row.ticket = facts.first_ticket;
            row.device = device.device;
            table.add(row, cells);
        }
    }
    return table;
}

}  // namespace memsnap
