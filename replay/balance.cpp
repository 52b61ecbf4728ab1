// SPDX-License-Identifier: Apache-2.0
//
// The parts of a card. Where free bytes were not observed they are what the parts leave of it.
#include "balance.h"

#include "extent.h"

namespace memsnap {
namespace {

Wide own_bytes(const Balance& balance) {
    Wide bytes = 0;
    for (const ForeignBytes& held : balance.libraries)
        bytes += held.bytes;
    return bytes;
}

// What PyTorch's allocator holds and nothing is in.
void take_holes(const Ledger& ledger, const BalanceWish& wish, Balance& balance) {
    ExtentRequest request;
    request.size_bytes = wish.request_bytes.value_or(kGranule_bytes);
    for (const Extent& extent : extent_table(ledger, wish.device)) {
        if (extent.live || extent.deferred) continue;
        const bool fits = !wish.request_bytes || extent.size_bytes >= request.size_bytes;
        if (wish.request_bytes && compatibility(extent, request) == Compatibility::incompatible) {
            balance.incompatible_bytes += extent.size_bytes;
        } else if (fits) {
            balance.reusable_bytes += extent.size_bytes;
        }
    }
}

void take_rest_of_held(Wide held_bytes, Balance& balance) {
    balance.fragmented_bytes =
        held_bytes - balance.active_bytes - balance.reusable_bytes - balance.incompatible_bytes;
}

void take_anchored(const Anchored& anchored, Wide held_bytes, Balance& balance) {
    balance.source = anchored.source;
    balance.total_bytes = anchored.total_bytes;
    balance.others_bytes = anchored.others_bytes;
    balance.unattributed_bytes = anchored.unattributed_bytes;
    if (!anchored.total_bytes) return;
    balance.free_bytes = Wide{*anchored.total_bytes} - held_bytes - own_bytes(balance) -
                         balance.others_bytes.value_or(0) - *balance.unattributed_bytes;
}

}  // namespace

Balance balance_at(const Ledger& ledger, const BalanceWish& wish) {
    const DeviceTotals& totals = ledger.device(wish.device);
    Balance balance;
    balance.device = wish.device;
    balance.instant = wish.instant;
    balance.ticket = wish.ticket;
    balance.libraries = ledger.foreign(wish.device);
    balance.beside = ledger.beside(wish.device);
    balance.unseen_bytes = ledger.unseen_block_bytes(wish.device);
    balance.active_bytes =
        Wide{totals.allocated_bytes} + totals.deferred_bytes + totals.direct_bytes + balance.unseen_bytes;
    take_holes(ledger, wish, balance);
    take_rest_of_held(totals.held_bytes(), balance);
    take_anchored(wish.anchored, totals.held_bytes(), balance);
    return balance;
}

Balance balance_at_failure(const Ledger& ledger, const Evidence& evidence, uint64_t ticket,
                           const Anchored& anchored) {
    Balance balance;
    balance.device = evidence.device;
    balance.instant = BalanceInstant::failure;
    balance.ticket = ticket;
    balance.libraries = ledger.foreign(evidence.device);
    balance.beside = ledger.beside(evidence.device);
    balance.unseen_bytes = ledger.unseen_block_bytes(evidence.device);
    balance.active_bytes = Wide{evidence.allocated.low} + evidence.deferred.low;
    balance.reusable_bytes = evidence.extents.reusable;
    balance.incompatible_bytes = evidence.extents.incompatible;
    const Wide held_bytes = evidence.reserved.low;
    take_rest_of_held(held_bytes, balance);
    if (!evidence.device_free.known()) {
        take_anchored(anchored, held_bytes, balance);
        return balance;
    }
    balance.source = BalanceSource::observed;
    balance.free_bytes = evidence.device_free.low;
    if (evidence.outside.others.known()) balance.others_bytes = evidence.outside.others.low;
    if (!evidence.total.known()) return balance;
    balance.total_bytes = evidence.total.low;
    balance.unattributed_bytes = Wide{evidence.total.low} - evidence.device_free.low - held_bytes -
                                 own_bytes(balance) - balance.others_bytes.value_or(0);
    return balance;
}

}  // namespace memsnap
