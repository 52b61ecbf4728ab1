// SPDX-License-Identifier: Apache-2.0
//
// The decision: evidence in, exactly one status for each of the four hypotheses out. The rule: total,
// deterministic, in integers; where an input is an interval every end is decided, and only an answer that all
// ends share is an answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "evidence.h"
#include "qualifier.h"

namespace memsnap {

enum class Hypothesis : uint8_t {
    live_set,
    retention,
    fragmentation,
    external
};
enum class Status : uint8_t {
    primary,
    contributing,
    rejected,
    undecidable
};

inline constexpr std::array kHypotheses = {Hypothesis::live_set, Hypothesis::retention,
                                           Hypothesis::fragmentation, Hypothesis::external};

std::string_view name(Hypothesis hypothesis);
std::string_view name(Status status);

// What the evidence comes to, at the low end of each interval.
struct Numbers {
    Wide threshold = 0;  // tau
    Wide request = 0;    // what the failing allocator could not place; for a foreign one what it asked for
    Wide active = 0;
    Wide slack = 0;
    Wide outside = 0;
    Wide available = 0;      // K: what this process's allocator could have had in all
    Wide need = 0;           // what it would have had to hold at once: available - need = margin
    Wide margin = 0;         // M
    Wide deficit = 0;        // D = tau - M where M < tau, else 0
    Wide retained = 0;       // Q that decided
    Wide retained_high = 0;  // and its upper bound
    Wide removable = 0;      // E that decided
    Wide removable_high = 0;
    Wide contribution_floor = 0;  // the least relief that contributes
};

struct Finding {
    Status status = Status::undecidable;
    std::optional<Wide> margin;       // the one that decided, lowest over all ends; nullopt: not computable
    std::optional<Wide> margin_high;  // the highest that the unknowns allow
    Qualifiers qualifiers;
};

struct Verdict {
    std::array<Finding, 4> findings;  // by Hypothesis
    Qualifiers qualifiers;
    bool answered = false;           // a qualifier is itself the answer
    std::optional<Numbers> numbers;  // nullopt: the numbers settle nothing

    Finding& of(Hypothesis one) { return findings[static_cast<unsigned>(one)]; }
    const Finding& of(Hypothesis one) const { return findings[static_cast<unsigned>(one)]; }
    std::optional<Hypothesis> primary() const;
    // 10: a primary, or a qualifier that is itself the answer; 11: the evidence does not suffice.
    int exit_status() const;
};

Verdict decide(const Evidence& evidence);

}  // namespace memsnap
