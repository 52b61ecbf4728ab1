// SPDX-License-Identifier: Apache-2.0
//
// Copy, and go on from a copy.
#include "checkpoint.h"

#include <algorithm>

namespace memsnap {

void Checkpoints::take(const Event& event, const Ledger& ledger) {
    if (--due_count_ != 0) return;
    last_ = {std::make_shared<const Ledger>(ledger), event.ticket + 1};
    due_count_ = std::max(kLeast_count, ledger.entry_count());
}

Ledger ledger_at(const Window& window, const Checkpoint& checkpoint, uint64_t ticket) {
    Ledger ledger = checkpoint.ledger ? *checkpoint.ledger : Ledger(window);
    const uint64_t from = std::max(checkpoint.next_ticket, window.events.begin_ticket());
    window.events.for_each(from, std::max(from, ticket + 1), [&](const Event& event) {
        Change change;
        ledger.apply(event, change);
        return true;
    });
    return ledger;
}

}  // namespace memsnap
