// SPDX-License-Identifier: Apache-2.0
//
// Field by field, in the order of BEFORE.
#include "diff_cohort.h"

#include <algorithm>

namespace memsnap {
namespace {

constexpr std::string_view kFields[] = {"device.ordinal",
                                        "device.total_bytes",
                                        "torch_version",
                                        "cuda_runtime_version",
                                        "cuda_driver_version",
                                        "world_size",
                                        "rank",
                                        "allocator.backend",
                                        "allocator.expandable_segments",
                                        "allocator.caching_disabled",
                                        "allocator.max_split_size_bytes",
                                        "allocator.gc_threshold_permille",
                                        "allocator.roundup_power2_divisions",
                                        "allocator.unknown_option_count",
                                        "phases.family",
                                        "phases.words"};
constexpr std::string_view kDimension = "dimensions.";

const CohortValue* find(const DiffSide& side, std::string_view field) {
    const auto found = std::ranges::find(side.cohort, field, &CohortValue::field);
    return found == side.cohort.end() ? nullptr : &*found;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool Cohort::comparable() const {
    return std::ranges::all_of(differences, &CohortDifference::declared);
}

bool is_cohort_field(std::string_view field) {
    if (std::ranges::find(kFields, field) != std::end(kFields)) return true;
    if (!field.starts_with(kDimension)) return false;
    const std::string_view ordinal = field.substr(kDimension.size());
    return !ordinal.empty() && ordinal.size() < 10 && ordinal.front() != '0' &&
           ordinal.find_first_not_of("0123456789") == std::string_view::npos;
}

Cohort compare_cohorts(const DiffSide& before, const DiffSide& after,
                       const std::vector<std::string>& declared) {
    std::vector<std::string> fields;
    for (const DiffSide* side : {&before, &after}) {
        for (const CohortValue& value : side->cohort) {
            if (!contains(fields, value.field)) fields.push_back(value.field);
        }
    }
    Cohort cohort;
    // What a side never declared (a dimension) is a value of its own: null.
    const CohortValue none;
    for (const std::string& field : fields) {
        const CohortValue* const in_before = find(before, field);
        const CohortValue* const in_after = find(after, field);
        const CohortValue& left = in_before == nullptr ? none : *in_before;
        const CohortValue& right = in_after == nullptr ? none : *in_after;
        if (!left.known || !right.known) {
            cohort.unknown.push_back(field);
        } else if (left.value.text() == right.value.text()) {
            ++cohort.equal_count;
        } else {
            cohort.differences.push_back({field, left.value, right.value, contains(declared, field)});
        }
    }
    for (const std::string& field : declared) {
        const bool changed = std::ranges::find(cohort.differences, field, &CohortDifference::field) !=
                             cohort.differences.end();
        const bool said = contains(cohort.unknown, field) || contains(cohort.declared_unchanged, field);
        if (!changed && !said) cohort.declared_unchanged.push_back(field);
    }
    return cohort;
}

}  // namespace memsnap
