// SPDX-License-Identifier: Apache-2.0
//
// Sides of a comparison in round numbers, in MiB: a card of 1000 of which 50 are outside, and a threshold
// of 15.
#pragma once

#include <string>

#include "catch.h"
#include "diff.h"

namespace memsnap::test {

inline DiffSide side_without_incident() {
    DiffSide side;
    side.from_ring = true;
    side.evidence_digest = "after";
    side.verdict = "{}";
    side.ended_well = true;
    side.total = Amount::observed(1000);
    side.outside = Amount::derived(50);
    side.peak_active = Amount::observed(600);
    side.peak_reserved = Amount::observed(700);
    side.peak_is_whole = true;
    side.grants = Grants{};
    side.grants->exact = true;
    return side;
}

// It held 900 and asked for 100: 950 were available, the margin is -50, the deficit 65.
inline DiffSide side_with(const std::string& primary, const std::string& answer = "") {
    DiffSide side = side_without_incident();
    side.evidence_digest = "before";
    side.ended_well = false;
    side.ending = Ending::fatal;
    side.peak_active = Amount::observed(920);
    SideIncident& incident = side.incident.emplace();
    incident.device = 0;
    incident.allocator = "pytorch";
    incident.primary = primary;
    incident.answer = answer;
    incident.request = Amount::observed(100);
    incident.segment_request = Amount::derived(100);
    incident.device_free = Amount::observed(40);
    incident.largest_free_extent = Amount::derived(20);
    incident.incompatible_free = Amount::derived(30);
    incident.need = Amount::derived(1000);
    incident.margin = Amount::derived(-50);
    incident.threshold = Amount::derived(15);
    incident.deficit = Amount::derived(65);
    side.failures.push_back({0, "pytorch", 100, false});
    return side;
}

inline Proof proof_of(const DiffSide& before, const DiffSide& after, std::optional<Wide> target = {}) {
    const auto contract = judge_contract(before, after, target);
    REQUIRE(contract);
    return contract->result;
}

// The truth and the inequality of a condition, as "holds: a 1 >= b 1".
inline std::string condition_of(const DiffSide& before, const DiffSide& after, std::string_view wanted,
                                std::optional<Wide> target = {}) {
    const auto contract = judge_contract(before, after, target);
    REQUIRE(contract);
    for (const auto& alternative : contract->alternatives) {
        for (const Condition& condition : alternative) {
            if (condition.name != wanted) continue;
            return std::string(name(condition.truth)) +
                   (condition.clause ? ": " + inequality(*condition.clause) : "");
        }
    }
    return "absent";
}

}  // namespace memsnap::test
