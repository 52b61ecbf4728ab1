// SPDX-License-Identifier: Apache-2.0
//
// Traces that nobody aims: jobs of the allocator model on cards that fill up, and numbers that no lossless
// writer writes. The rule: what comes of it is for the programs to say.
#pragma once

#include <string>
#include <vector>

#include "scenario.h"

namespace memsnap::differential {

// Threads, streams and private pools on one or two cards, with other libraries and processes beside them.
std::vector<std::string> build_natural(const Plan& plan);

// Damages one record or table entry of a block, with a fitting check or without. The ring has lost nothing,
// so that the damage is corruption or harmless: what is looked at after an excused one the rules do not say.
void damage(std::vector<std::string>& lines, const Plan& plan);

}  // namespace memsnap::differential
