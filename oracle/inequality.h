// SPDX-License-Identifier: Apache-2.0
//
// The one line of arithmetic behind a status (VERDICT.md §10). Rule: every relation printed holds.
#pragma once

#include "decide.h"

namespace oracle {

std::string inequality_of(Hypothesis hypothesis, const Question& question, const Decision& decision);

}  // namespace oracle
