// SPDX-License-Identifier: Apache-2.0
//
// Rows, contract and result.
#include "diff.h"

#include "result.h"

namespace memsnap {
namespace {

Amount count_of(const DiffSide& side) {
    if (!side.grants) return {};
    return Amount::observed(Wide{side.grants->count});
}

Amount extent_of(const DiffSide& side) {
    return side.incident ? side.incident->largest_free_extent : Amount();
}

Amount rise_of(const DiffSide& side) {
    return side.growth ? Amount::derived(side.growth->rise_bytes) : Amount();
}

std::vector<DiffRow> rows_of(const DiffSide& before, const DiffSide& after) {
    return {{"peak_active_bytes", before.peak_active, after.peak_active},
            {"peak_reserved_bytes", before.peak_reserved, after.peak_reserved},
            {"largest_free_extent_bytes", extent_of(before), extent_of(after)},
            {"outside_bytes", before.outside, after.outside},
            {"headroom_bytes", headroom(before), headroom(after)},
            {"retained_bytes", before.retained, after.retained},
            {"active_rise_bytes", rise_of(before), rise_of(after)},
            {"request_granted_count", count_of(before), count_of(after)},
            {"boundaries_per_kilosecond", before.boundaries_per_kilosecond, after.boundaries_per_kilosecond}};
}

bool same_cause(const DiffSide& before, const DiffSide& after) {
    if (!has_cause(before) || !has_cause(after)) return false;
    return before.incident->primary == after.incident->primary &&
           before.incident->answer == after.incident->answer;
}

DiffResult result_of(const Diff& diff) {
    const DiffSide& before = diff.before;
    const DiffSide& after = diff.after;
    if (before.evidence_digest == after.evidence_digest && before.verdict != after.verdict)
        return DiffResult::other_diagnosis;
    if (!diff.cohort.comparable()) return DiffResult::not_comparable;
    if (after.ending == Ending::fatal) {
        return same_cause(before, after) ? DiffResult::incident_persists : DiffResult::another_incident;
    }
    if (before.ending == Ending::no_incident && after.ending == Ending::no_incident)
        return DiffResult::no_incident;
    // A job that outlived a failure is judged by the contract; a failure without evidence proves nothing.
    if (!diff.contract) {
        const bool appeared = before.ending == Ending::no_incident && after.ending == Ending::survived;
        return appeared ? DiffResult::another_incident : DiffResult::not_proven;
    }
    switch (diff.contract->result) {
        case Proof::refuted:
            return DiffResult::refuted;
        case Proof::proven:
            return after.ending == Ending::lost ? DiffResult::not_proven : DiffResult::proven;
        case Proof::not_proven:
            break;
    }
    return DiffResult::not_proven;
}

}  // namespace

bool has_cause(const DiffSide& side) {
    return side.incident && !(side.incident->primary.empty() && side.incident->answer.empty());
}

std::optional<Wide> DiffRow::difference() const {
    if (!before.known() || !after.known()) return std::nullopt;
    return *after.value - *before.value;
}

std::string_view name(DiffResult result) {
    constexpr std::string_view kNames[] = {"other_diagnosis",  "not_comparable", "incident_persists",
                                           "another_incident", "refuted",        "proven",
                                           "no_incident",      "not_proven"};
    return kNames[static_cast<size_t>(result)];
}

Diff compare(DiffSide before, DiffSide after, const DiffOptions& options) {
    Diff diff;
    diff.cohort = compare_cohorts(before, after, options.declared);
    diff.rows = rows_of(before, after);
    std::optional<Wide> target;
    if (options.target_headroom_bytes) target = Wide{*options.target_headroom_bytes};
    diff.contract = judge_contract(before, after, target);
    diff.target_headroom_bytes = options.target_headroom_bytes;
    diff.before = std::move(before);
    diff.after = std::move(after);
    diff.result = result_of(diff);
    return diff;
}

int exit_status(const Diff& diff) {
    switch (diff.result) {
        case DiffResult::other_diagnosis:
            return static_cast<int>(ErrorCode::disagreed);
        case DiffResult::incident_persists:
        case DiffResult::another_incident:
        case DiffResult::refuted:
            return 10;
        case DiffResult::proven:
        case DiffResult::no_incident:
            return 0;
        case DiffResult::not_comparable:
        case DiffResult::not_proven:
            break;
    }
    return 11;
}

}  // namespace memsnap
