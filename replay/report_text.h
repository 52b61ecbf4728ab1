// SPDX-License-Identifier: Apache-2.0
//
// How the report spells numbers, bars and symbols. The rule: rounding is done once for numbers that stand in
// one sum, so that what is printed adds up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure.h"
#include "shown_text.h"

namespace memsnap {

// A screen. Lists of sites give way where a report would be longer.
inline constexpr size_t kReportColumns = 100;
inline constexpr size_t kReportLines = 50;

inline constexpr Wide kGiB_bytes = Wide{1} << 30;
inline constexpr Wide kMiB_bytes = Wide{1} << 20;

struct ReportSymbols {
    explicit ReportSymbols(bool utf8);
    std::string_view tau, at_least, at_most, minus;
    bool utf8 = false;
};

inline Letters letters(bool utf8) {
    return utf8 ? Letters::utf8 : Letters::ascii;
}

// GiB with two decimals, of hundredths of a GiB.
std::string hundredths_text(int64_t hundredths);

// A size on its own, in the unit that suits it: "512 B", "20.00 MiB", "2.00 GiB".
std::string size_text(uint64_t bytes);

// GiB with two decimals, or where that would print next to nothing a unit that suits it; never "0.00".
std::string amount_text(Wide bytes, const ReportSymbols& symbols);
// Whether it would.
bool is_next_to_nothing(Wide bytes);

// Hundredths with the report's minus sign.
std::string signed_text(int64_t hundredths, const ReportSymbols& symbols);

// size_text() of a sum, which may be larger than any size; below 0 it is 0.
std::string wide_size_text(Wide bytes);

// Nearest hundredth of a GiB, or of another unit; saturates.
int64_t hundredths(Wide bytes, Wide unit_bytes = kGiB_bytes);

// Rounded so that they add up to the rounded sum: the first to the nearest, the others by largest remainder.
// Parts may be negative.
std::vector<int64_t> hundredths_of_parts(const std::vector<Wide>& parts_bytes);

// "12.31 s", "3 min 12 s", in the units that suit it.
std::string duration_text(uint64_t duration_ns);

// A bar of at most `columns` cells for part / whole; eighths of a cell in UTF-8, whole cells in ASCII.
std::string bar(uint64_t part, uint64_t whole, unsigned columns, bool utf8);

// 1048576 -> 1,048,576
std::string grouped(uint64_t value);

// "1 step", "2,000 steps"
std::string counted(uint64_t count, std::string_view what);

}  // namespace memsnap
