// SPDX-License-Identifier: Apache-2.0
//
// What this process and others hold beside the residual, which stays what it was.
#include "carried.h"

namespace memsnap {

Carried carried(const DeviceTotals& totals, const std::optional<BalanceAnchor>& anchor,
                std::optional<uint64_t> others_bytes) {
    Carried now;
    now.held_bytes = totals.held_bytes();
    now.own_outside_bytes = totals.own_bytes;
    if (!anchor || anchor->others_bytes) now.other_processes_bytes = others_bytes;
    if (!anchor) return now;
    now.unattributed_bytes = anchor->residual_bytes - anchor->others_bytes.value_or(0);
    now.used_bytes = now.held_bytes + now.own_outside_bytes + now.other_processes_bytes.value_or(0) +
                     *now.unattributed_bytes;
    now.expected_free_bytes = Wide{anchor->total_bytes} - *now.used_bytes;
    return now;
}

}  // namespace memsnap
