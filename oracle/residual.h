// SPDX-License-Identifier: Apache-2.0
//
// What an observation leaves to others, contexts and modules (VERDICT.md §3). Rule: an interval, because the
// driver alone knows how it rounds and what its pools keep.
#pragma once

#include "scene.h"

namespace oracle {

struct Residual {
    const Event* observation;
    Int low;
    Int high;  ///< r itself: rounding and pool slack can only take from it
};

/// Of every observation of the device in the window by the ticket, in order; an untold one has none.
std::vector<Residual> residuals_of(const Scene& scene, int device, u64 ticket);

}  // namespace oracle
