// SPDX-License-Identifier: Apache-2.0
//
// What a card's memory did over the window, in a line a lane. The rule: a column shows the greatest value of
// its events, and where a lane's least would not be seen it has a line of its own; what nobody knew is a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture.h"
#include "levels.h"
#include "report.h"

namespace memsnap {

// What the lanes are looked at for.
struct LaneView {
    int device = -1;
    uint64_t peak_ticket = 0;
    std::optional<Event> failure;
    bool from_keyframe = false;
    bool with_least = true;  // lines of their own
};

// Heights of 0 (nothing) to 8 (`top_value`, above 0) of what a column shows: its greatest, or at either end
// of the lane its least, where the next column shows the greatest too. Nothing: not known.
using Heights = std::vector<std::optional<int>>;
Heights shown_heights(std::span<const LaneRange> columns, int64_t top_value);
Heights least_heights(std::span<const LaneRange> columns, int64_t top_value);

// Whether some column's least is lower than everything that is shown there and beside it, by more than the
// one height that a drawing may be off.
bool hides_a_least(const Heights& shown, const Heights& least);

// A glyph a column; not known: a space.
std::string sparkline(const Heights& heights, bool utf8);

// Nothing, where fewer than two columns would be known.
std::vector<std::string> lane_lines(const Capture& capture, const Levels& levels, const ReportStyle& style,
                                    const LaneView& view);

}  // namespace memsnap
