// SPDX-License-Identifier: Apache-2.0
//
// Fix, proof and probe: a closed list (docs/receipt.md, Advice). Rule: the first row that fits.
#pragma once

#include "decide.h"

namespace oracle {

struct Advice {
    std::string_view fix, proof;
};

std::optional<Advice> advice_for(Hypothesis hypothesis, const Question& question, const Decision& decision);
/// Of several answers the first in the list speaks.
std::optional<Advice> advice_for_answers(const Words& answers);
std::optional<std::string_view> probe_for(Hypothesis hypothesis, const Question& question,
                                          const Decision& decision);

}  // namespace oracle
