// SPDX-License-Identifier: Apache-2.0
//
// The before/after comparison: may the two be compared, how do their numbers differ, and did AFTER show what
// the cause of BEFORE asks for. The rule: one result with one exit status; what was not observed is said to
// be unknown, and correctness (losses, outputs) is never judged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diff_cohort.h"
#include "diff_contract.h"
#include "diff_side.h"

namespace memsnap {

struct DiffOptions {
    std::vector<std::string> declared;  // cohort fields that the change was meant to change
    std::optional<uint64_t> target_headroom_bytes;
};

// One compared number.
struct DiffRow {
    std::string_view name;
    Amount before, after;

    std::optional<Wide> difference() const;
};

// The one thing a comparison comes to, strongest first.
enum class DiffResult : uint8_t {
    other_diagnosis,    // the same evidence, another verdict
    not_comparable,     // undeclared differences
    incident_persists,  // AFTER ended in the same cause
    another_incident,   // AFTER ended in another one, or in one without a cause
    refuted,
    proven,
    no_incident,  // on either side
    not_proven,
};

std::string_view name(DiffResult result);

struct Diff {
    DiffSide before, after;
    Cohort cohort;
    std::vector<DiffRow> rows;
    std::optional<Contract> contract;
    std::optional<uint64_t> target_headroom_bytes;
    DiffResult result = DiffResult::not_proven;
};

Diff compare(DiffSide before, DiffSide after, const DiffOptions& options);

// Whether its incident has a primary, or a qualifier that is the answer.
bool has_cause(const DiffSide& side);

// 0, 6, 10 or 11.
int exit_status(const Diff& diff);

}  // namespace memsnap
