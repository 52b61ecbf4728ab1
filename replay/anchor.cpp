// SPDX-License-Identifier: Apache-2.0
//
// One answer and one sample a side of the marked instant: the log does not grow.
#include "anchor.h"

#include "outside.h"
#include "residual.h"

namespace memsnap {

void AnchorLog::take(const Event& event, const Ledger& ledger) {
    const bool sampled = event.kind == Kind::process_sample && !event.has(kUnavailable);
    const bool before_mark = event.ticket <= marked_.ticket;
    if (sampled) {
        others_bytes_ = event.other_process_bytes();
        if (!first_others_bytes_) first_others_bytes_ = others_bytes_;
        if (before_mark) marked_.others_bytes = others_bytes_;
    }
    if (!tells_outside(event, ledger.late_start())) return;
    last_ = {event.ticket, event.device_total_bytes(), residual_of(event, ledger).high, others_bytes_};
    if (before_mark || !marked_.anchor) marked_.anchor = last_;
}

void AnchorLog::mark(uint64_t ticket) {
    marked_ = {ticket, last_, others_bytes_};
}

// What nobody had said by then was said first some time after.
Anchored AnchorLog::anchored(const Instant& instant) const {
    const auto or_first = [&](std::optional<uint64_t> said) { return said ? said : first_others_bytes_; };
    Anchored known;
    known.others_bytes = or_first(instant.others_bytes);
    if (!instant.anchor) return known;
    const BalanceAnchor& anchor = *instant.anchor;
    known.source = anchor.ticket == instant.ticket  ? BalanceSource::observed
                   : anchor.ticket < instant.ticket ? BalanceSource::carried
                                                    : BalanceSource::carried_back;
    known.total_bytes = anchor.total_bytes;
    known.unattributed_bytes = anchor.residual_bytes - or_first(anchor.others_bytes).value_or(0);
    return known;
}

}  // namespace memsnap
