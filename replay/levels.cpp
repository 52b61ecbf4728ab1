// SPDX-License-Identifier: Apache-2.0
//
// One pass: a run ends by its number of events, which the window tells beforehand.
#include "levels.h"

#include <algorithm>
#include <bit>

namespace memsnap {
namespace {

// What is known of a device that nothing was told of.
constexpr LevelLane kNothingHeld[] = {LevelLane::active, LevelLane::reserved, LevelLane::own_outside};

std::optional<int64_t> in_64_bits(Wide value) {
    if (value < INT64_MIN || value > INT64_MAX) return std::nullopt;
    return static_cast<int64_t>(value);
}
std::optional<int64_t> in_64_bits(std::optional<Wide> value) {
    return value ? in_64_bits(*value) : std::nullopt;
}
std::optional<int64_t> in_64_bits(std::optional<uint64_t> value) {
    return value ? in_64_bits(Wide{*value}) : std::nullopt;
}

bool is_found(const Event& event) {
    return event.kind == Kind::initial || event.kind == Kind::initial_segment;
}

// What a source adds to that.
bool is_of_found(const Event& event) {
    return event.kind == Kind::tap_alloc || event.kind == Kind::tap_free_requested ||
           event.kind == Kind::tap_segment_alloc || event.kind == Kind::tap_segment_map ||
           event.kind == Kind::category;
}

// f(int device) of each device of a set of bits.
template <class F>
void for_each_device(uint32_t devices, F&& f) {
    for (; devices != 0; devices &= devices - 1)
        f(static_cast<size_t>(std::countr_zero(devices)));
}

LaneRange merged_range(const DeviceLevels& device, size_t lane, size_t from, size_t to) {
    LaneRange range;
    for (size_t run = from; run < to; ++run)
        range.add(device.ranges[run][lane]);
    return range;
}

}  // namespace

std::string_view name(LevelLane lane) {
    switch (lane) {
        case LevelLane::active:
            return "active";
        case LevelLane::reserved:
            return "reserved";
        case LevelLane::used:
            return "used";
        case LevelLane::own_outside:
            return "own_outside";
        case LevelLane::other_processes:
            return "other_processes";
        case LevelLane::unattributed:
            return "unattributed";
    }
    return "";
}

const DeviceLevels* Levels::of(int device) const {
    const auto found = std::ranges::find(devices, device, &DeviceLevels::device);
    return found == devices.end() ? nullptr : &*found;
}

Levels merged(const Levels& levels, size_t columns_most) {
    const size_t run_count = levels.runs.size();
    const size_t column_count = std::min(columns_most, run_count);
    Levels few;
    for (const DeviceLevels& device : levels.devices)
        few.devices.push_back({device.device, {}});
    for (size_t column = 0; column < column_count; ++column) {
        const size_t from = column * run_count / column_count;
        const size_t to = (column + 1) * run_count / column_count;
        LevelRun run = levels.runs[from];
        run.last_ticket = levels.runs[to - 1].last_ticket;
        run.last_counter = levels.runs[to - 1].last_counter;
        for (size_t more = from + 1; more < to; ++more)
            run.event_count += levels.runs[more].event_count;
        few.runs.push_back(run);
        for (size_t at = 0; at < few.devices.size(); ++at) {
            LaneRanges& ranges = few.devices[at].ranges.emplace_back();
            for (size_t lane = 0; lane < kLevelLaneCount; ++lane)
                ranges[lane] = merged_range(levels.devices[at], lane, from, to);
        }
    }
    return few;
}

LevelsWatch::LevelsWatch(const Window& window, const Ledger& begin, size_t runs_most)
    : event_count_(window.facts.accepted_count),
      run_count_(static_cast<size_t>(std::clamp<uint64_t>(event_count_, 1, std::max<size_t>(runs_most, 1)))) {
    for (int device = 0; device < kDeviceCapacity; ++device) {
        const DeviceTotals& totals = begin.device(device);
        if (totals.in_use() || totals.own_bytes != 0) tell_of(device);
    }
}

void LevelsWatch::take(const Event& event, const Ledger& ledger) {
    const bool found = is_found(event) || (finding_ && is_of_found(event));
    if (!found) settle();
    if (taken_count_ == run_ends_at_) begin_run(event);
    ++taken_count_;
    LevelRun& run = runs_.back();
    run.last_ticket = event.ticket;
    run.last_counter = event.time_counter;
    ++run.event_count;
    if (event.device >= 0) {
        tell_of(event.device);
        anchors_[static_cast<size_t>(event.device)].take(event, ledger);
    }
    finding_ = found;
    if (found) {
        for_each_device(told_, [&](size_t device) { found_[device] = values_of(device, ledger); });
        return;
    }
    for_each_device(told_, [&](size_t device) { add(values_of(device, ledger), ranges_[device].back()); });
    take_untold();
}

Levels LevelsWatch::levels() {
    settle();
    Levels levels;
    levels.runs = std::move(runs_);
    for_each_device(told_, [&](size_t device) {
        levels.devices.push_back({static_cast<int>(device), std::move(ranges_[device])});
    });
    return levels;
}

void LevelsWatch::begin_run(const Event& event) {
    const size_t run = runs_.size();
    run_ends_at_ = run + 1 < run_count_ ? (run + 1) * event_count_ / run_count_ : UINT64_MAX;
    runs_.push_back({event.ticket, event.ticket, event.time_counter, event.time_counter, 0});
    untold_.emplace_back();
    for_each_device(told_, [&](size_t device) { ranges_[device].emplace_back(); });
}

void LevelsWatch::tell_of(int device) {
    const uint32_t bit = uint32_t{1} << device;
    if ((told_ & bit) != 0) return;
    told_ |= bit;
    ranges_[static_cast<size_t>(device)] = untold_;
}

LevelsWatch::Values LevelsWatch::values_of(size_t device, const Ledger& ledger) const {
    const DeviceTotals& totals = ledger.device(static_cast<int>(device));
    const AnchorLog& log = anchors_[device];
    const Carried now = carried(totals, log.last(), log.others_bytes());
    return {in_64_bits(Wide{totals.allocated_bytes} + totals.deferred_bytes),
            in_64_bits(now.held_bytes),
            in_64_bits(now.used_bytes),
            in_64_bits(now.own_outside_bytes),
            in_64_bits(now.other_processes_bytes),
            in_64_bits(now.unattributed_bytes)};
}

void LevelsWatch::add(const Values& values, LaneRanges& ranges) {
    for (size_t lane = 0; lane < kLevelLaneCount; ++lane) {
        if (values[lane]) ranges[lane].add(*values[lane]);
    }
}

void LevelsWatch::take_untold() {
    for (const LevelLane lane : kNothingHeld)
        untold_.back()[static_cast<size_t>(lane)].known = true;
}

void LevelsWatch::settle() {
    if (!finding_) return;
    for_each_device(told_, [&](size_t device) { add(found_[device], ranges_[device].back()); });
    take_untold();
    finding_ = false;
}

}  // namespace memsnap
