// SPDX-License-Identifier: Apache-2.0
//
// What to try, how to prove it and what to probe: the closed set of texts. The rule: the smallest change that
// the evidence supports, one thing at a time, on the same run; nothing from the job stands in a text.
#pragma once

#include <span>
#include <string_view>

#include "evidence.h"
#include "verdict.h"

namespace memsnap {

struct Advice {
    std::string_view fix;
    std::string_view proof;
    std::string_view probe;
};

Advice advise(Hypothesis hypothesis, const Evidence& evidence, const Verdict& verdict);

// For a verdict that a qualifier answers, or that lacks evidence: fix, proof and probe of the whole.
Advice advise_answer(const Verdict& verdict);

// The closed sets.
std::span<const std::string_view> fixes();
std::span<const std::string_view> proofs();
std::span<const std::string_view> probes();

}  // namespace memsnap
