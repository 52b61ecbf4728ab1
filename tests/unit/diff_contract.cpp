// SPDX-License-Identifier: Apache-2.0
//
// What each cause asks a second run to show, on both sides of each inequality.
#include "diff_contract.h"

#include "diff_sides.h"

using namespace memsnap;
using namespace memsnap::test;

TEST_CASE("fragmentation is proven fixed by one grant more than BEFORE had") {
    DiffSide before = side_with("fragmentation");
    DiffSide after = side_without_incident();
    before.grants->count = 3;
    after.grants->count = 4;
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "request_granted") == "holds: granted_after 4 >= granted_needed 4");
    after.grants->count = 3;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.failures.push_back({0, "pytorch", 100, false});
    CHECK(condition_of(before, after, "request_granted") == "fails: granted_after 3 < granted_needed 4");
}

TEST_CASE("where earlier grants of BEFORE are unknown only a job that ended well proves anything") {
    DiffSide before = side_with("fragmentation");
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    SECTION("BEFORE is a receipt") {
        before.grants.reset();
    }
    SECTION("the ring of BEFORE has lost its begin") {
        before.grants->exact = false;
    }
    CHECK(proof_of(before, after) == Proof::proven);
    after.ended_well = false;
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("a receipt cannot say whether the request was granted, only that it failed again") {
    const DiffSide before = side_with("fragmentation");
    DiffSide after = side_without_incident();
    after.grants.reset();
    CHECK(condition_of(before, after, "request_granted") == "unknown");
    after.failures = {{0, "pytorch", 99, false}, {1, "pytorch", 100, false}, {0, "pytorch", 101, true}};
    CHECK(condition_of(before, after, "request_granted") == "unknown");
    SECTION("at its end") {
        after.failures.push_back({0, "pytorch", 101, false});
    }
    SECTION("and went on") {
        after.failures.push_back({0, "pytorch", 100, true});
    }
    CHECK(condition_of(before, after, "request_granted") == "fails");
}

TEST_CASE("fragmentation is proven fixed by a hole as large as the request") {
    const DiffSide before = side_with("fragmentation");
    DiffSide after = side_with("live_set");
    after.incident->largest_free_extent = Amount::derived(100);
    CHECK(proof_of(before, after) == Proof::proven);
    after.incident->largest_free_extent = Amount::derived(99);
    CHECK(proof_of(before, after) == Proof::refuted);
    CHECK(condition_of(before, after, "extent_reaches") ==
          "fails: largest_free_extent_after 99 < request 100");
}

TEST_CASE("incompatible fragmentation asks for the grant and for less free memory in other pools") {
    DiffSide before = side_with("fragmentation");
    before.incident->qualifiers = {"incompatible"};
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.grants->slack_bytes = Amount::derived(29);
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "incompatible_fell") ==
          "holds: slack_after 29 < incompatible_free_before 30");
    after.grants->slack_bytes = Amount::derived(30);
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.incident = before.incident;
    CHECK(proof_of(before, after) == Proof::refuted);
}

TEST_CASE("live-set asks for a peak that lies a deficit below the need, and for the grant") {
    const DiffSide before = side_with("live_set");
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    after.peak_active = Amount::observed(935);
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "peak_fell") ==
          "holds: peak_needed_before 1000 - peak_active_after 935 = 65 >= deficit 65");
    after.peak_active = Amount::observed(936);
    CHECK(proof_of(before, after) == Proof::refuted);
    after.peak_active = Amount::observed(935);
    after.peak_is_whole = false;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.peak_is_whole = true;
    after.grants->count = 0;
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("a smaller step that never asks for the block again is proven by a target headroom") {
    const DiffSide before = side_with("live_set");
    DiffSide after = side_without_incident();
    CHECK(proof_of(before, after, Wide{350}) == Proof::proven);
    CHECK(condition_of(before, after, "headroom_returned", Wide{350}) ==
          "holds: total 1000 - outside_after 50 - peak_active_after 600 = 350 >= target_headroom 350");
    CHECK(proof_of(before, after, Wide{351}) == Proof::not_proven);
    after.ended_well = false;
    CHECK(proof_of(before, after, Wide{350}) == Proof::not_proven);
}

TEST_CASE("AFTER needed what it was refused too, even if it went on and ended well") {
    const DiffSide before = side_with("live_set");
    DiffSide after = side_with("live_set");
    after.ending = Ending::survived;
    after.ended_well = true;
    after.peak_active = Amount::observed(600);
    after.incident->need = Amount::derived(700);
    after.failures = {{0, "pytorch", 100, true}};
    CHECK(condition_of(before, after, "peak_fell") ==
          "holds: peak_needed_before 1000 - peak_needed_after 700 = 300 >= deficit 65");
    CHECK(condition_of(before, after, "headroom_returned", Wide{250}) ==
          "holds: total 1000 - outside_after 50 - peak_needed_after 700 = 250 >= target_headroom 250");
    CHECK(condition_of(before, after, "headroom_returned", Wide{251}).starts_with("fails"));
    CHECK(condition_of(before, after, "request_granted") == "fails: granted_after 0 < granted_needed 1");
    CHECK(condition_of(before, after, "got_as_far", Wide{250}) == "fails");
    after.grants->count = 5;
    CHECK(proof_of(before, after, Wide{250}) == Proof::refuted);
    after.failures = {{0, "pytorch", 99, true}};
    CHECK(proof_of(before, after, Wide{250}) == Proof::proven);
    after.failures.push_back({0, "pytorch", 350, true});
    CHECK(condition_of(before, after, "peak_fell").starts_with("unknown"));
}

TEST_CASE("what another library was refused again refutes") {
    DiffSide before = side_with("", "cache_hoarding");
    before.incident->allocator = "foreign";
    before.incident->request = {};
    before.incident->segment_request = Amount::derived(100);
    DiffSide after = before;
    after.failures = {{0, "foreign", 100, false}};
    after.grants = Grants{};
    after.grants->exact = true;
    CHECK(proof_of(before, after) == Proof::refuted);
    after.failures = {{0, "foreign", 99, false}};
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("a cap asks for the grant or for a lower peak of a run that got as far") {
    DiffSide before = side_with("live_set");
    before.incident->qualifiers = {"cap"};
    before.incident->steps_ended_count = 3;
    DiffSide after = side_without_incident();
    CHECK(proof_of(before, after) == Proof::proven);
    after.ended_well = false;
    after.steps_ended_count = 3;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.steps_ended_count = 4;
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "got_as_far") == "holds: steps_after 4 > steps_before 3");
}

TEST_CASE("a request larger than the card asks for smaller ones") {
    DiffSide before = side_with("live_set");
    before.incident->qualifiers = {"larger_than_card"};
    DiffSide after = side_without_incident();
    after.grants->largest_bytes = 999;
    CHECK(proof_of(before, after) == Proof::proven);
    after.grants->exact = false;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.grants->largest_bytes = 1000;
    CHECK(proof_of(before, after) == Proof::refuted);
}

TEST_CASE("retention asks that active stops rising over five more steps") {
    DiffSide before = side_with("retention");
    before.growth = StepGrowth{9, 5, 90, 90, 5};
    DiffSide after = side_without_incident();
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.growth = StepGrowth{6, 3, 0, 0, 5};
    CHECK(proof_of(before, after) == Proof::proven);
    after.growth = StepGrowth{6, 3, 1, 1, 5};
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.growth = StepGrowth{6, 4, 1, 1, 5};
    CHECK(proof_of(before, after) == Proof::refuted);
    CHECK(condition_of(before, after, "pairs_stopped_rising") ==
          "fails: growing_pairs_after 4 >= growing_pairs_needed 4");
    after.growth = StepGrowth{5, 0, 0, 0, 4};
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("retention is proven fixed although pairs rise when at most a hundredth of the rise is left") {
    DiffSide before = side_with("retention");
    before.growth = StepGrowth{9, 5, 1099, 1099, 5};
    DiffSide after = side_without_incident();
    after.growth = StepGrowth{6, 5, 10, 10, 5};
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "hundredth_is_left") == "holds: rise_left 10 <= rise_allowed 10");
    after.growth->spaced_rise_bytes = 11;
    CHECK(proof_of(before, after) == Proof::refuted);
    CHECK(condition_of(before, after, "hundredth_is_left") == "fails: rise_left 11 > rise_allowed 10");
    SECTION("of as many steps") {
        after.growth->spaced_steps_count = 10;
        CHECK(condition_of(before, after, "hundredth_is_left") == "holds: rise_left 11 <= rise_allowed 21");
        before.growth->spaced_steps_count = 10;
        CHECK(proof_of(before, after) == Proof::refuted);
    }
    SECTION("nothing of a rise that BEFORE did not have") {
        before.growth->spaced_rise_bytes = -1'000'000;
        CHECK(condition_of(before, after, "hundredth_is_left") == "fails: rise_left 11 > rise_allowed 0");
    }
    SECTION("but not in fewer than six steps, nor without the rise of BEFORE") {
        after.growth = StepGrowth{5, 4, 10, 10, 4};
        CHECK(condition_of(before, after, "hundredth_is_left") == "unknown");
        after.growth = StepGrowth{6, 5, 10, 10, 5};
        before.growth.reset();
        CHECK(proof_of(before, after) == Proof::not_proven);
    }
}

TEST_CASE("external pressure asks that outside bytes fall by the deficit in a run that got as far") {
    DiffSide before = side_with("external");
    before.outside = Amount::derived(200);
    DiffSide after = side_without_incident();
    after.outside = Amount::derived(135);
    CHECK(proof_of(before, after) == Proof::proven);
    CHECK(condition_of(before, after, "outside_fell") ==
          "holds: outside_before 200 - outside_after 135 = 65 >= deficit 65");
    after.outside = Amount::derived(136);
    CHECK(proof_of(before, after) == Proof::refuted);
    after.outside = {};
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.outside = Amount::derived(135);
    after.ended_well = false;
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("an answer asks for the same request again") {
    for (const char* answer : {"deferred_free", "fit_ignored", "cache_hoarding", "cache_pinned"}) {
        const DiffSide before = side_with("", answer);
        DiffSide after = side_without_incident();
        CHECK(proof_of(before, after) == Proof::not_proven);
        after.grants->count = 1;
        CHECK(proof_of(before, after) == Proof::proven);
    }
}

TEST_CASE("a driver that refused is disproven only by a call that had no more free bytes") {
    const DiffSide before = side_with("", "driver_refused");
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    CHECK(proof_of(before, after) == Proof::not_proven);
    after.grants->device_free_bytes = Amount::observed(40);
    CHECK(proof_of(before, after) == Proof::proven);
    after.grants->device_free_bytes = Amount::observed(41);
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("a card of unknown size counts as the same one only while no more was reserved than it had") {
    const DiffSide before = side_with("fragmentation");
    DiffSide after = side_without_incident();
    after.grants->count = 1;
    after.total = {};
    after.peak_reserved = Amount::observed(950);
    CHECK(proof_of(before, after) == Proof::proven);
    after.peak_reserved = Amount::observed(951);
    CHECK(proof_of(before, after) == Proof::not_proven);
}

TEST_CASE("without a cause there is no contract") {
    CHECK(!judge_contract(side_with(""), side_without_incident(), {}));
    CHECK(!judge_contract(side_without_incident(), side_without_incident(), {}));
}
