// SPDX-License-Identifier: Apache-2.0
//
// The tables of one window that the page shows event by event. The rule: one pass over all events of the
// window, so that every ordinal is the event ledger's; those outside the range are counted and not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "ledger_numbers.h"
#include "page_table.h"
#include "result.h"

namespace memsnap {

inline constexpr uint64_t kPageEvents_most = uint64_t{1} << 20;

// Which events are told one by one.
struct ExactRange {
    uint64_t first_ticket = 0;
    uint64_t end_ticket = 0;
    uint64_t event_count = 0;
    std::optional<uint64_t> before_ticket;  // the last event of the window that comes before
};

// Those around the failure, an eighth of them after it; without one the last.
ExactRange exact_range(const Window& window, std::optional<uint64_t> failure_ticket, uint64_t events_most);

// A table, and what was put into its columns.
struct MadeTable {
    std::string bytes;
    uint64_t row_count = 0;
    std::vector<std::string> columns;
    std::vector<ColumnSum> sums;
};

MadeTable made(PageTable table);

struct PageTables {
    MadeTable begin, events, derived;
    LedgerNumbers numbers;
};

// Errors: corrupt, as replay() finds it.
Result<PageTables> page_tables(const Capture& capture, const Window& window, const Analysis& analysis,
                               const ExactRange& range);

}  // namespace memsnap
