// SPDX-License-Identifier: Apache-2.0
//
// What the failing side's cause asks a second run to show, and whether it did. The rule: a condition holds or
// fails by the numbers that AFTER observed; where one is missing the condition is unknown, and a contract
// that hangs on it is not proven. What ideal packing says about BEFORE proves nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diff_side.h"
#include "explain.h"

namespace memsnap {

enum class Truth : uint8_t {
    fails,
    unknown,
    holds
};

std::string_view name(Truth truth);

struct Condition {
    std::string_view name;
    Truth truth = Truth::unknown;
    std::optional<Clause> clause;  // with the numbers of both sides, where they are known
    std::string_view missing;      // unknown: what would settle it
};

enum class Proof : uint8_t {
    refuted,
    not_proven,
    proven
};

std::string_view name(Proof proof);

struct Contract {
    std::string cause;  // the primary hypothesis of BEFORE, or the qualifier that is its answer
    std::string proof;  // in words
    std::vector<std::vector<Condition>> alternatives;  // one suffices, all of its conditions must hold
    Proof result = Proof::not_proven;
};

// nullopt: BEFORE has no incident, or none with a cause.
std::optional<Contract> judge_contract(const DiffSide& before, const DiffSide& after,
                                       std::optional<Wide> target_headroom_bytes);

// total - outside - peak active; unknown where a part is.
Amount headroom(const DiffSide& side);

// One ASCII line, in bytes.
std::string inequality(const Clause& clause);

}  // namespace memsnap
