// SPDX-License-Identifier: Apache-2.0
//
// Peak, lifetimes, reconciliation and notes.
#include "history.h"

#include <algorithm>
#include <unordered_map>

#include "outside.h"
#include "window_builder.h"

namespace memsnap {

PeakWatch::PeakWatch(const Ledger& begin, uint64_t begin_ticket, int device) : device_(device) {
    peak_.active_bytes = begin.device(device).allocated_bytes;
    peak_.active_ticket = begin_ticket;
}

bool PeakWatch::take(const Event& event, const Ledger& ledger) {
    const bool reports_more = is_report(event) && event.device == device_ &&
                              (!peak_.reserved_bytes || event.reserved_bytes > *peak_.reserved_bytes);
    if (reports_more) {
        peak_.reserved_bytes = event.reserved_bytes;
        peak_.reserved_ticket = event.ticket;
    }
    const uint64_t active = ledger.device(device_).allocated_bytes;
    if (active <= peak_.active_bytes) return false;
    peak_.active_bytes = active;
    peak_.active_ticket = event.ticket;
    peak_.at_begin = false;
    return true;
}

void HistoryWatch::take(const Event& event, const Ledger& ledger, const Change& change) {
    take_lifetime(event, change);
    take_doubt(event, change);
    if (event.kind == Kind::mem_info) take_observation(event, ledger);
}

void HistoryWatch::take_lifetime(const Event& event, const Change& change) {
    if (change.born != nullptr && change.born->device == device_) ++lifetimes_.born_count;
    const bool freed =
        change.freed && change.freed->device == device_ && change.freed->birth_ticket >= begin_ticket_;
    if (!freed) return;
    const uint64_t ticks = event.ticket - change.freed->birth_ticket;
    ++lifetimes_.freed_count;
    lifetimes_.total_ticks += ticks;
    lifetimes_.longest_ticks = std::max(lifetimes_.longest_ticks.value_or(0), ticks);
}

// What was there before a late start, or was born while records were lost, gives back nobody knows how much;
// the allocator's next report tells what it still holds.
void HistoryWatch::take_doubt(const Event& event, const Change& change) {
    if (is_report(event) && event.device == device_) held_is_known_ = true;
    const bool ends_nothing_known = event.kind == Kind::free && is_death(event) && change.object == nullptr;
    if (!ends_nothing_known || object_of(event) == Object::host) return;
    held_is_known_ = false;
    last_residual_.reset();
}

void HistoryWatch::take_observation(const Event& event, const Ledger& ledger) {
    if (event.device != device_ || event.code != 0 || event.has(kUnavailable)) return;
    ++reconciliation_.observation_count;
    if (!held_is_known_ || !tells_outside(event, ledger.late_start())) return;
    const Residual residual = residual_of(event, ledger);
    if (last_residual_) {
        const Wide apart =
            std::max({Wide{0}, residual.low - last_residual_->high, last_residual_->low - residual.high});
        if (apart != 0) ++reconciliation_.mismatch_count;
        reconciliation_.largest_difference_bytes =
            std::max(reconciliation_.largest_difference_bytes.value_or(0), apart);
    }
    last_residual_ = residual;
}

std::vector<Note> last_notes(const EventStream& events, uint64_t until_ticket) {
    std::vector<Note> notes;
    std::unordered_map<uint64_t, size_t> index;
    events.for_each(events.begin_ticket(), until_ticket, [&](const Event& event) {
        if (event.kind != Kind::note) return true;
        const auto [found, fresh] = index.try_emplace(event.link, notes.size());
        if (fresh) notes.push_back({event.link, 0});
        notes[found->second].value = static_cast<int64_t>(event.size_bytes);
        return true;
    });
    return notes;
}

}  // namespace memsnap
