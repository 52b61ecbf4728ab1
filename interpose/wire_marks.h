// SPDX-License-Identifier: Apache-2.0
//
// What the families of ranges mean in the format, and the unit of ages in boundaries and samples (WIRE.md).
// The rule: whoever writes or reads a ring asks here.
#pragma once

#include "wire.h"

namespace memsnap::wire {

// Ages are in units of 2^20 clock ticks.
inline constexpr uint32_t kAgeShift_bits = 20;

// Ranges that give births their phase.
constexpr bool labels_births(Family family) {
    return family == Family::none || family == Family::optimizer || family == Family::range;
}

// Ranges whose end is a boundary.
constexpr bool ends_in_boundary(Family family) {
    return family == Family::optimizer || family == Family::range || family == Family::module;
}

}  // namespace memsnap::wire
