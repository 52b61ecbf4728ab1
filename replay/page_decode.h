// SPDX-License-Identifier: Apache-2.0
//
// A table of the page, read out again. The rule: by the format's text (docs/page.md) alone; what does not fit
// it is said, not repaired.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "page_table.h"

namespace memsnap {

struct DecodedTable {
    std::string problem;  // empty: none
    uint64_t row_count = 0;
    std::vector<std::string> columns;  // name, coding and type
    std::vector<ColumnSum> sums;
    // Words of its lists and texts of its numbers, to be looked at.
    std::vector<std::string> texts;
};

// What columns of a table need that have the same rows as another one.
struct DecodedRows {
    static constexpr uint64_t kNoTicketRead = UINT64_MAX;  // too large for the column: behind all others
    std::vector<uint64_t> tickets;
    std::vector<int> devices;
    std::vector<Wide> moved_bytes;
    std::vector<uint64_t> born_at_row;  // the row itself where there is none
};

// `rows` is that of the table before where the rows are the same, and is this table's afterwards.
DecodedTable decode_table(std::string_view table, DecodedRows& rows);

}  // namespace memsnap
