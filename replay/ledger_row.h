// SPDX-License-Identifier: Apache-2.0
//
// One event as a row of the event ledger, with a cell a column of known type. The rule: made once, from the
// record and the state after it, for whatever writes the ledger; an empty cell is not known, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "anchor.h"
#include "csv_columns.h"
#include "csv_numbering.h"
#include "ledger.h"
#include "ledger_numbers.h"
#include "receipt_dictionary.h"
#include "window.h"

namespace memsnap {

struct LedgerRow {
    // Integers in two's complement, words as their enumerators.
    std::array<uint64_t, kCsvColumnCount> values;
    uint64_t filled = 0;  // a bit a column
    // Of the record, where that is the address of a block or region; never written as it is.
    std::optional<uint64_t> address;

    bool has(Column column) const { return (filled >> static_cast<size_t>(column) & 1) != 0; }
    uint64_t value(Column column) const { return values[static_cast<size_t>(column)]; }
    void set(Column column, uint64_t number) {
        values[static_cast<size_t>(column)] = number;
        filled |= uint64_t{1} << static_cast<size_t>(column);
    }
    void set_signed(Column column, int64_t number) { set(column, static_cast<uint64_t>(number)); }
};
static_assert(kCsvColumnCount <= 64);

// Fed with every event of a window in ticket order, and the state after it.
class LedgerRows {
  public:
    LedgerRows(const Window& window, const Analysis& analysis);

    // Good until the next one.
    const LedgerRow& take(const Event& event, const Ledger& ledger, const Change& change);

    uint64_t site_ordinal(const SiteKey& key);
    uint64_t phase_ordinal(uint16_t folded_name);
    uint64_t library_ordinal(uint16_t library) const { return dictionary_.library(library); }
    // What all ordinals so far stand for.
    LedgerNumbers numbers() const;
    // The device's answers so far.
    const AnchorLog& answers(int device) const { return anchors_[static_cast<size_t>(device)]; }

  private:
    void take_record(const Event& event, const Ledger& ledger);
    void take_meaning(const Event& event);
    void take_cause(const Event& event, uint64_t ticket);
    void take_object(const Event& event, const Ledger& ledger, const Change& change);
    uint64_t birth_of(const Event& event, const Ledger& ledger, const Change& change) const;
    void take_place(const Event& event, const Ledger& ledger, const Change& change);
    uint64_t site_of(const Event& event, const Change& change);
    void take_totals(const Event& event, const Ledger& ledger);
    void take_holders(const Event& event, const Ledger& ledger);
    void set_wide(Column column, Wide number);

    const Window& window_;
    const Dictionary dictionary_;
    Numbering<SiteKey, SiteKeyHash> sites_;
    Numbering<uint64_t> phases_;
    Numbering<uint64_t> dimensions_;
    Numbering<uint16_t> threads_{0};
    Numbering<uint64_t> segments_{0};  // by birth ticket
    uint64_t announced_ = kNoTicket;   // birth of the object whose birth record is due
    uint64_t announced_at_ = kNoTicket;
    std::array<AnchorLog, kDeviceCapacity> anchors_;
    LedgerRow row_;
};

// What may be a region of an allocator: its objects have addresses, those of other classes perhaps handles.
bool is_region_class(Object object);

// Whether a ticket is the birth of an object that the window knows: live at its begin, or born in it.
bool is_birth_of_window(const Window& window, uint64_t ticket);

}  // namespace memsnap
