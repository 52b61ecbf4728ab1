// SPDX-License-Identifier: Apache-2.0
//
// Who holds a card at an instant. The rule (VERDICT.md, "Balance"): signed integers that add up to the card
// exactly; what was observed, carried from another instant and left over is told apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "anchor.h"
#include "evidence.h"
#include "ledger.h"
#include "measure.h"

namespace memsnap {

enum class BalanceInstant : uint8_t {
    peak,
    failure,
    end
};

struct Balance {
    int device = -1;
    BalanceInstant instant = BalanceInstant::peak;
    uint64_t ticket = 0;
    BalanceSource source = BalanceSource::unknown;
    std::optional<uint64_t> total_bytes;
    Wide active_bytes = 0;
    uint64_t unseen_bytes = 0;  // of active: blocks from before a late start that nobody saw
    uint64_t reusable_bytes = 0;
    Wide fragmented_bytes = 0;
    uint64_t incompatible_bytes = 0;
    std::vector<ForeignBytes> libraries;
    std::optional<uint64_t> others_bytes;
    std::optional<Wide> unattributed_bytes;
    std::optional<Wide> free_bytes;
    BesideBytes beside;
};

// An instant other than the failing one.
struct BalanceWish {
    int device = -1;
    BalanceInstant instant = BalanceInstant::peak;
    uint64_t ticket = 0;
    std::optional<uint64_t> request_bytes;  // of the incident; nothing: every hole is usable
    Anchored anchored;
};

// `ledger` is the state at the instant.
Balance balance_at(const Ledger& ledger, const BalanceWish& wish);
Balance balance_at_failure(const Ledger& ledger, const Evidence& evidence, uint64_t ticket,
                           const Anchored& anchored);

}  // namespace memsnap
