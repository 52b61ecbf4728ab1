// SPDX-License-Identifier: Apache-2.0
//
// Peak, lifetimes, reconciliation and notes.
#include "history.h"

#include <algorithm>
#include <unordered_map>

namespace memsnap {

HistoryWatch::HistoryWatch(const Ledger& begin, uint64_t begin_ticket, int device)
    : begin_ticket_(begin_ticket), device_(device) {
    history_.peak.active_bytes = begin.device(device).allocated_bytes;
    history_.peak.active_ticket = begin_ticket;
}

void HistoryWatch::take(const Event& event, const Ledger& ledger, const Change& change) {
    take_peak(event, ledger);
    take_lifetime(event, change);
    if (event.kind == Kind::mem_info) take_observation(event, ledger);
}

void HistoryWatch::take_peak(const Event& event, const Ledger& ledger) {
    Peak& peak = history_.peak;
    const uint64_t active = ledger.device(device_).allocated_bytes;
    if (active > peak.active_bytes) {
        peak.active_bytes = active;
        peak.active_ticket = event.ticket;
    }
    const bool report =
        event.kind == Kind::block_alloc || event.kind == Kind::block_free || event.kind == Kind::block_oom;
    if (!report || event.device != device_) return;
    if (!peak.reserved_bytes || event.reserved_bytes > *peak.reserved_bytes) {
        peak.reserved_bytes = event.reserved_bytes;
        peak.reserved_ticket = event.ticket;
    }
}

void HistoryWatch::take_lifetime(const Event& event, const Change& change) {
    Lifetimes& lifetimes = history_.lifetimes;
    if (change.born != nullptr && change.born->device == device_) ++lifetimes.born_count;
    const bool freed =
        change.freed && change.freed->device == device_ && change.freed->birth_ticket >= begin_ticket_;
    if (!freed) return;
    const uint64_t ticks = event.ticket - change.freed->birth_ticket;
    ++lifetimes.freed_count;
    lifetimes.total_ticks += ticks;
    lifetimes.longest_ticks = std::max(lifetimes.longest_ticks.value_or(0), ticks);
}

// Everything that PyTorch's allocator held, with what only its own report tells, and what other libraries of
// the process held. A job that polls asks far more often than it allocates.
Wide HistoryWatch::held_bytes(const Ledger& ledger) {
    if (foreign_version_ != ledger.object_version()) {
        foreign_version_ = ledger.object_version();
        foreign_bytes_ = 0;
        for (const ForeignBytes& foreign : ledger.foreign(device_))
            foreign_bytes_ += foreign.bytes;
    }
    const DeviceTotals& totals = ledger.device(device_);
    return foreign_bytes_ + totals.unseen_reserved_bytes + totals.segment_bytes + totals.candidate_bytes +
           totals.direct_bytes;
}

void HistoryWatch::take_observation(const Event& event, const Ledger& ledger) {
    if (event.device != device_ || event.code != 0 || event.has(kUnavailable)) return;
    Reconciliation& reconciliation = history_.reconciliation;
    const Wide residual = Wide{event.device_total_bytes()} - event.device_free_bytes() - held_bytes(ledger);
    ++reconciliation.observation_count;
    if (last_residual_bytes_) {
        const Wide change = residual - *last_residual_bytes_;
        const Wide difference = change < 0 ? -change : change;
        if (difference != 0) ++reconciliation.mismatch_count;
        reconciliation.largest_difference_bytes =
            std::max(reconciliation.largest_difference_bytes.value_or(0), difference);
    }
    last_residual_bytes_ = residual;
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
