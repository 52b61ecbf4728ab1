// SPDX-License-Identifier: Apache-2.0
//
// One pass over the live blocks.
#include "requests.h"

#include <algorithm>

namespace memsnap {
namespace {

// Whole granules, one at least.
Wide rounded_bytes(uint64_t requested_bytes) {
    const Wide granules = (Wide{requested_bytes} + kGranule_bytes - 1) / kGranule_bytes;
    return std::max(Wide{1}, granules) * kGranule_bytes;
}

}  // namespace

std::optional<Requests> requests_at(const Ledger& ledger, int device, uint64_t ticket,
                                    std::optional<uint64_t> reported_bytes) {
    if (!ledger.tap_seen()) return std::nullopt;
    Requests requests;
    requests.device = device;
    requests.ticket = ticket;
    bool all_told = true;
    ledger.for_each_block(device, [&](const Block& block) {
        requests.granted_bytes += block.size_bytes;
        all_told &= block.told;
        if (!block.told) return;
        ++requests.told_block_count;
        requests.told_granted_bytes += block.size_bytes;
        requests.told_requested_bytes += block.requested_bytes;
        requests.told_rounding_bytes += rounded_bytes(block.requested_bytes) - block.requested_bytes;
    });
    if (reported_bytes) {
        requests.requested_bytes = *reported_bytes;
    } else if (all_told) {
        requests.requested_bytes = requests.told_requested_bytes;
    }
    return requests;
}

}  // namespace memsnap
