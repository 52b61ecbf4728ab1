// SPDX-License-Identifier: Apache-2.0
//
// The sum, and how far it may be off: small allocations are rounded up, and pools keep what was given back.
#include "residual.h"

namespace memsnap {

Residual residual_of(const Event& observation, const Ledger& ledger) {
    const DeviceTotals& totals = ledger.device(observation.device);
    const Wide used = Wide{observation.device_total_bytes()} - observation.device_free_bytes();
    const Wide residual = used - totals.held_bytes() - totals.own_bytes;
    const Wide pool_slack = totals.pool_room_peak_bytes - totals.pooled_bytes;
    return {residual - totals.rounding_bytes - pool_slack, residual};
}

}  // namespace memsnap
