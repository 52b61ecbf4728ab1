// SPDX-License-Identifier: Apache-2.0
//
// Who holds a card after any event, as the last answer of the device before it has it. The rule: what nobody
// had said by then is not known, never 0.
#pragma once

#include <cstdint>
#include <optional>

#include "anchor.h"
#include "ledger.h"
#include "measure.h"

namespace memsnap {

struct Carried {
    Wide held_bytes = 0;         // by PyTorch's allocator
    Wide own_outside_bytes = 0;  // by other libraries of this process
    std::optional<uint64_t> other_processes_bytes;
    std::optional<Wide> unattributed_bytes;
    std::optional<Wide> expected_free_bytes;
    std::optional<Wide> used_bytes;  // the card less that
};

// `totals` are those after the event, `anchor` is the answer that is carried to it, `others_bytes` the last
// word on other processes. A word that came after the answer alone is not set against it.
Carried carried(const DeviceTotals& totals, const std::optional<BalanceAnchor>& anchor,
                std::optional<uint64_t> others_bytes);

}  // namespace memsnap
