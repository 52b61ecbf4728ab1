// SPDX-License-Identifier: Apache-2.0
//
// What each finding prints: the inequality that decided it with its numbers filled in, its inputs with their
// provenance, the smallest fix and how to prove it. The rule: a printed relation is computed from the printed
// numbers, so it is true as it stands; texts are a closed set and hold nothing from the job.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "evidence.h"
#include "verdict.h"

namespace memsnap {

struct Term {
    std::string_view name;
    Wide value = 0;
    bool subtracted = false;
};

enum class Relation : uint8_t {
    greater,
    at_least,
    less,
    at_most
};

// left (summed up) relation right (summed up)
struct Clause {
    std::vector<Term> left;
    Relation relation = Relation::at_least;
    std::vector<Term> right;
};

struct Input {
    std::string_view name;
    Measure value;
};

struct Explanation {
    std::vector<Clause> clauses;  // all of them hold
    std::vector<Input> inputs;
    std::string_view fix;    // empty unless primary or contributing
    std::string_view proof;  // the same
    std::string_view probe;  // undecidable: what was missing, and the smallest probe that supplies it
};

using Explanations = std::array<Explanation, 4>;  // by Hypothesis

Explanations explain(const Evidence& evidence, const Verdict& verdict);

// The inequality of a verdict without numbers.
inline constexpr std::string_view kUnsettled = "unknown: the numbers settle nothing";

// One ASCII line, in bytes.
std::string inequality(const Explanation& explanation);

std::string_view name(Relation relation);

}  // namespace memsnap
