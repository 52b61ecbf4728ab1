// SPDX-License-Identifier: Apache-2.0
//
// What was live before the first event that the page holds, and what else the events before it said. The
// rule: looked at when the ledger is there, numbered when all events have been seen, because ordinals go by
// first appearance in the events.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "csv_numbering.h"
#include "ledger.h"
#include "ledger_row.h"
#include "page_places.h"
#include "page_table.h"
#include "page_words.h"

namespace memsnap {

// Ordinals of streams and pools: first those of the begin, then those of the events.
struct TapNumbers {
    Numbering<uint64_t> streams{0};
    Numbering<uint16_t> pools{0};

    PageCell stream(uint64_t stream) { return streams.of(stream, 0); }
    PageCell pool(uint16_t pool) { return pool == kPoolUnknown ? PageCell{} : PageCell{pools.of(pool, 0)}; }
};

// As in `flags` of the page's tables.
uint64_t page_flags(uint8_t event_flags);

class PageBegin {
  public:
    PageBegin();
    ~PageBegin();
    PageBegin(const PageBegin&) = delete;
    PageBegin& operator=(const PageBegin&) = delete;

    // `inside`: events of the window came before, and what they said is told, too.
    void take(const Ledger& ledger, const LedgerRows& rows, TapNumbers& numbers, bool inside);

    PageTable table(LedgerRows& rows, const PagePlaces& places) const;

  private:
    struct Row;

    void take_told(const Ledger& ledger, const LedgerRows& rows, int device);
    void take_memory(const Ledger& ledger);
    void take_object(const Ledger& ledger, const DriverObject& object);
    void take_blocks(const Ledger& ledger);
    Row& add(BeginState state, int device);

    std::vector<Row> rows_;
};

}  // namespace memsnap
