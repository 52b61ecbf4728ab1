// SPDX-License-Identifier: Apache-2.0
//
// What an answer of the device leaves when all that this process was seen to hold is taken off. The rule
// (VERDICT.md, "Residual"): an integer that may be negative, and an interval where only the driver knows
// more.
#pragma once

#include "event.h"
#include "ledger.h"
#include "measure.h"

namespace memsnap {

// Others and contexts hold something in [low, high]; `high` is the residual itself.
struct Residual {
    Wide low = 0;
    Wide high = 0;
};

// `ledger` is the state at the observation, whose device is known.
Residual residual_of(const Event& observation, const Ledger& ledger);

}  // namespace memsnap
