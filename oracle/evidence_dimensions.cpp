// SPDX-License-Identifier: Apache-2.0
//
// Whether peaks went where a noted dimension went (VERDICT.md §7). Rule: a dimension's value only changes
// where it is noted, so each is looked at in runs of intervals with one value.
#include "case.h"

namespace oracle {
namespace {

/// An interval between two points in which a report was made.
struct Interval {
    u64 end;
    Int peak;
};

std::vector<u64> ends_of_steps(const Incident& incident) {
    const auto& recording = incident.scene.recording;
    auto family = incident.growth.points.told_family;
    std::vector<u64> ends;
    for (const auto& boundary : recording.file->boundaries) {  // by closing ticket
        bool fits = boundary.device == incident.inputs.device && boundary.family == static_cast<u8>(family) &&
                    family != Family::kNoFamily && boundary.closed >= recording.begin &&
                    boundary.closed <= incident.inputs.ticket &&
                    (family != Family::kRange || boundary.depth == 0);
        if (fits && (ends.empty() || ends.back() != boundary.closed)) ends.push_back(boundary.closed);
    }
    return ends;
}

std::vector<Interval> intervals_of(const Incident& incident) {
    auto ends = ends_of_steps(incident);
    std::vector<std::optional<Int>> peaks(ends.size());
    for (const auto& event : incident.scene.recording.events) {
        if (event.device != incident.inputs.device || !event.is_report()) continue;
        auto end = std::lower_bound(ends.begin(), ends.end(), event.ticket);
        if (end == ends.end()) continue;
        auto& peak = peaks[static_cast<std::size_t>(end - ends.begin())];
        peak = std::max<Int>(peak.value_or(0), event.allocated_bytes);
    }
    std::vector<Interval> intervals;
    for (std::size_t i = 1; i < ends.size(); ++i) {
        if (peaks[i]) intervals.push_back({ends[i], *peaks[i]});
    }
    return intervals;
}

/// Intervals from `first` on in which a dimension has one value.
struct Run {
    std::size_t first;
    std::int64_t value;
};
using Runs = std::map<u64, std::vector<Run>>;

Runs runs_of(const Incident& incident, const std::vector<Interval>& intervals) {
    Runs runs;
    for (const auto& event : incident.scene.recording.events) {
        if (event.kind != kNote) continue;
        auto in =
            std::lower_bound(intervals.begin(), intervals.end(), event.ticket,
                             [](const Interval& interval, u64 ticket) { return interval.end < ticket; });
        if (in == intervals.end()) continue;
        auto first = static_cast<std::size_t>(in - intervals.begin());
        auto& list = runs[event.link];
        auto value = static_cast<std::int64_t>(event.size);
        if (!list.empty() && list.back().first == first) {
            list.back().value = value;
        } else {
            list.push_back({first, value});
        }
    }
    return runs;
}

Json effect_of(u64 ordinal, const std::vector<Run>& runs, const std::vector<Interval>& intervals,
               const std::vector<std::size_t>& highest_from) {
    u64 changed = 0, together = 0;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].value == runs[i - 1].value) continue;
        ++changed;
        Int before = intervals[runs[i].first - 1].peak, after = intervals[runs[i].first].peak;
        bool same_way = runs[i].value > runs[i - 1].value ? after > before : after < before;
        together += same_way ? 1 : 0;
    }
    auto [least, greatest] = std::minmax_element(
        runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.value < b.value; });
    auto highest = highest_from[runs.front().first];
    auto of_highest =
        std::prev(std::upper_bound(runs.begin(), runs.end(), highest,
                                   [](std::size_t wanted, const Run& run) { return wanted < run.first; }));
    return Json::Object{{"dimension", ordinal},
                        {"interval_count", u64{intervals.size() - runs.front().first}},
                        {"changed_count", changed},
                        {"together_count", together},
                        {"least_value", Int{least->value}},
                        {"greatest_value", Int{greatest->value}},
                        {"peak_bytes", intervals[highest].peak},
                        {"value_at_peak", Int{of_highest->value}}};
}

}  // namespace

void add_dimension_effects(const Incident& incident, Dictionary& dictionary, Json::Object& evidence) {
    auto intervals = intervals_of(incident);
    // The first interval with the highest peak from each one on.
    std::vector<std::size_t> highest_from(intervals.size());
    for (std::size_t i = intervals.size(); i-- > 0;) {
        bool higher = i + 1 == intervals.size() || intervals[i].peak >= intervals[highest_from[i + 1]].peak;
        highest_from[i] = higher ? i : highest_from[i + 1];
    }
    std::map<u64, Json> by_ordinal;
    for (const auto& [dimension, runs] : runs_of(incident, intervals)) {
        if (intervals.size() - runs.front().first < 2) continue;
        u64 ordinal = dictionary.dimensions.of(dimension);
        by_ordinal.emplace(ordinal, effect_of(ordinal, runs, intervals, highest_from));
    }
    Json::Array list;
    for (auto& [ordinal, effect] : by_ordinal)
        list.push_back(std::move(effect));
    evidence["dimension_effects"] = std::move(list);
}

}  // namespace oracle
