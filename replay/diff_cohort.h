// SPDX-License-Identifier: Apache-2.0
//
// Whether two sides may be compared. The rule: every difference is named with both values, and only those
// that were declared are allowed; a value that one side does not know is named as unknown and refuses
// nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diff_side.h"

namespace memsnap {

struct CohortDifference {
    std::string field;
    Json before, after;
    bool declared = false;
};

struct Cohort {
    std::vector<CohortDifference> differences;
    std::vector<std::string> declared_unchanged;
    std::vector<std::string> unknown;  // on one side or both
    uint64_t equal_count = 0;

    bool comparable() const;
};

Cohort compare_cohorts(const DiffSide& before, const DiffSide& after,
                       const std::vector<std::string>& declared);

// Whether a name is that of a cohort field: one of the list, or `dimensions.` and an ordinal.
bool is_cohort_field(std::string_view field);

}  // namespace memsnap
