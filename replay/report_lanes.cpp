// SPDX-License-Identifier: Apache-2.0
//
// Heading, lanes, and below them the marks of peak and failure.
#include "report_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report_card.h"
#include "report_text.h"

namespace memsnap {
namespace {

constexpr size_t kLaneBegin = 2 + kCardLabelColumns + 1 + 12 + 2;  // where the card's bars begin too
constexpr size_t kLaneColumns = kReportColumns - kLaneBegin;
constexpr int kHeights_count = 8;

using Ranges = std::vector<LaneRange>;

struct ShownLane {
    LevelLane lane;
    std::string_view label;
};
constexpr ShownLane kShownLanes[] = {
    {LevelLane::active, "active"}, {LevelLane::reserved, "reserved"}, {LevelLane::used, "device used"}};

// 0 for what is nothing or less; else 1 at least, so that it is seen.
int height(int64_t value, int64_t top_value) {
    if (value <= 0) return 0;
    const Wide eighths = (Wide{value} * kHeights_count + top_value / 2) / top_value;
    return static_cast<int>(std::clamp(eighths, Wide{1}, Wide{kHeights_count}));
}

std::string line(std::string_view label, std::string_view number, std::string_view rest) {
    return fmt::format("  {:<{}} {:>12}  {}", label, kCardLabelColumns, number, rest);
}

class LaneLines {
  public:
    LaneLines(const Capture& capture, const Levels& levels, const ReportStyle& style, const LaneView& view)
        : capture_(capture),
          levels_(merged(levels, kLaneColumns)),
          view_(view),
          symbols_(style.utf8),
          device_(levels_.of(view.device)) {}

    std::vector<std::string> run() {
        if (device_ == nullptr || known_count(ranges_of(LevelLane::active)) < 2) return {};
        for (const ShownLane& shown : kShownLanes)
            top_value_ = std::max(top_value_, over_all(ranges_of(shown.lane)).greatest);
        if (top_value_ <= 0) return {};
        heading();
        for (const ShownLane& shown : kShownLanes)
            lane(shown);
        marks();
        return std::move(lines_);
    }

  private:
    Ranges ranges_of(LevelLane lane) const {
        Ranges ranges;
        for (size_t run = 0; run < levels_.runs.size(); ++run)
            ranges.push_back(device_->of(run, lane));
        return ranges;
    }

    static ptrdiff_t known_count(const Ranges& ranges) {
        return std::ranges::count(ranges, true, &LaneRange::known);
    }

    static LaneRange over_all(const Ranges& ranges) {
        LaneRange all;
        for (const LaneRange& range : ranges)
            all.add(range);
        return all;
    }

    void heading() {
        const LevelRun& first = levels_.runs.front();
        const LevelRun& last = levels_.runs.back();
        std::string text = fmt::format("events {} to {}", first.first_ticket, last.last_ticket);
        if (view_.from_keyframe) text += " kept with the failure";
        if (const auto duration = nanoseconds_until(last.last_counter))
            text += ", " + duration_text(*duration);
        const std::string top = "; full height " + amount_text(top_value_, symbols_);
        if (text.size() + top.size() <= kLaneColumns) text += top;
        const bool several = levels_.devices.size() > 1;
        lines_.push_back(line(several ? fmt::format("cuda:{}", view_.device) : "", "most", text));
    }

    // Since the first event, where time went on.
    std::optional<uint64_t> nanoseconds_until(uint64_t counter) const {
        const auto begin = capture_.monotonic_ns(levels_.runs.front().first_counter);
        const auto end = capture_.monotonic_ns(counter);
        if (!begin || !end || *end <= *begin) return std::nullopt;
        return *end - *begin;
    }

    void lane(const ShownLane& shown) {
        const Ranges ranges = ranges_of(shown.lane);
        const LaneRange all = over_all(ranges);
        if (!all.known) {
            lines_.push_back(line(shown.label, "unknown", ""));
            return;
        }
        const Heights heights = shown_heights(ranges, top_value_);
        const Heights least = least_heights(ranges, top_value_);
        // What was there before a late start is in no event.
        const bool seen_alone = shown.lane == LevelLane::active && capture_.late_start();
        add(seen_alone ? "active, seen" : shown.label, all.greatest, heights);
        if (view_.with_least && hides_a_least(heights, least)) add("  least", all.least, least);
    }

    void add(std::string_view label, int64_t value, const Heights& heights) {
        lines_.push_back(line(label, amount_text(value, symbols_), sparkline(heights, symbols_.utf8)));
    }

    size_t column_of(uint64_t ticket) const {
        const auto found = std::ranges::lower_bound(levels_.runs, ticket, {}, &LevelRun::last_ticket);
        const auto column = static_cast<size_t>(found - levels_.runs.begin());
        return std::min(column, levels_.runs.size() - 1);
    }

    // Words of a mark stand behind it, or before it where the line ends; nothing: neither has room for them.
    struct Mark {
        size_t begin = 0;
        std::string text;
        size_t end() const { return begin + text.size(); }
    };
    static std::optional<Mark> mark(size_t column, const std::string& sign, const std::string& words,
                                    bool before = false) {
        const size_t at = kLaneBegin + column;
        if (!before && at + sign.size() + 1 + words.size() <= kReportColumns)
            return Mark{at, fmt::format("{} {}", sign, words)};
        if (words.size() + 1 > at) return std::nullopt;
        return Mark{at - words.size() - 1, fmt::format("{} {}", words, sign)};
    }

    // The one mark of its line. Words that have no room beside it have a line of their own below.
    void only_mark(size_t column, const std::string& sign, const std::string& words) {
        if (const auto beside = mark(column, sign, words)) return mark_line({*beside});
        const size_t at = kLaneBegin + column;
        mark_line({{at, sign}});
        mark_line({{std::min(at, kReportColumns - std::min(kReportColumns, words.size())), words}});
    }

    void marks() {
        const std::string peak_words = fmt::format("peak at {}", view_.peak_ticket);
        const size_t peak = column_of(view_.peak_ticket);
        if (!view_.failure) return only_mark(peak, "^", peak_words);
        const uint64_t ticket = view_.failure->ticket;
        std::string words = fmt::format("failure at {}", ticket);
        if (const auto duration = nanoseconds_until(view_.failure->time_counter))
            words += ", " + duration_text(*duration);
        if (ticket == view_.peak_ticket) return only_mark(peak, "^", "peak and " + words);
        const size_t failure = column_of(ticket);
        const auto last = mark(failure, "^", words);
        for (const bool before : {false, true}) {
            const auto first = mark(peak, "^", peak_words, before);
            if (peak < failure && first && last && first->end() + 2 <= last->begin)
                return mark_line({*first, *last});
        }
        // The words of both stand on one side.
        const size_t apart = std::max(peak, failure) - std::min(peak, failure);
        const std::string signs = apart == 0 ? "^" : "^" + std::string(apart - 1, ' ') + "^";
        only_mark(std::min(peak, failure), signs, fmt::format("{}, {}", peak_words, words));
    }

    void mark_line(const std::vector<Mark>& marks) {
        std::string text;
        for (const Mark& one : marks)
            text += std::string(one.begin - text.size(), ' ') + one.text;
        lines_.push_back(std::move(text));
    }

    const Capture& capture_;
    const Levels levels_;
    const LaneView& view_;
    const ReportSymbols symbols_;
    const DeviceLevels* const device_;
    int64_t top_value_ = 0;
    std::vector<std::string> lines_;
};

}  // namespace

Heights least_heights(std::span<const LaneRange> columns, int64_t top_value) {
    Heights heights;
    for (const LaneRange& column : columns)
        heights.push_back(column.known ? std::optional(height(column.least, top_value)) : std::nullopt);
    return heights;
}

Heights shown_heights(std::span<const LaneRange> columns, int64_t top_value) {
    Heights heights;
    for (const LaneRange& column : columns)
        heights.push_back(column.known ? std::optional(height(column.greatest, top_value)) : std::nullopt);
    const auto end_of_lane = [&](size_t end, size_t next) {
        const bool shown_beside = heights[end] && heights[next] && *heights[next] >= *heights[end];
        if (shown_beside) heights[end] = height(columns[end].least, top_value);
    };
    if (columns.size() < 3) return heights;
    end_of_lane(0, 1);
    end_of_lane(columns.size() - 1, columns.size() - 2);
    return heights;
}

bool hides_a_least(const Heights& shown, const Heights& least) {
    for (size_t at = 0; at < least.size(); ++at) {
        if (!least[at]) continue;
        const size_t from = at == 0 ? 0 : at - 1;
        const auto near = std::span(shown).subspan(from, std::min(at + 2, shown.size()) - from);
        const bool seen = std::ranges::any_of(
            near, [&](const auto& beside) { return beside && *beside <= *least[at] + 1; });
        if (!seen) return true;
    }
    return false;
}

std::string sparkline(const Heights& heights, bool utf8) {
    constexpr std::string_view kBlocks[] = {"_", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::string_view kAscii[] = {"_", ".", ":", "-", "=", "+", "*", "#", "@"};
    std::string text;
    for (const std::optional<int>& one : heights) {
        const auto at = static_cast<size_t>(one.value_or(0));
        text += !one ? " " : utf8 ? kBlocks[at] : kAscii[at];
    }
    return text;
}

std::vector<std::string> lane_lines(const Capture& capture, const Levels& levels, const ReportStyle& style,
                                    const LaneView& view) {
    return LaneLines(capture, levels, style, view).run();
}

}  // namespace memsnap
