// SPDX-License-Identifier: Apache-2.0
//
// The decision table, both sides of each inequality, one unit apart.
#include "catch.h"
#include "evidence_builder.h"
#include "policy.h"
#include "verdict.h"

using namespace memsnap;
using namespace memsnap::test;
using enum Hypothesis;

namespace {

void check_statuses(const Verdict& verdict, Status live, Status retained, Status fragmented, Status outside) {
    CHECK(name(verdict.of(live_set).status) == name(live));
    CHECK(name(verdict.of(retention).status) == name(retained));
    CHECK(name(verdict.of(fragmentation).status) == name(fragmented));
    CHECK(name(verdict.of(external).status) == name(outside));
}

constexpr auto P = Status::primary;
constexpr auto C = Status::contributing;
constexpr auto R = Status::rejected;
constexpr auto U = Status::undecidable;

bool has(const Verdict& verdict, Qualifier qualifier) {
    return verdict.qualifiers.has(qualifier);
}

// The request fits a hole that is certainly its own.
Evidence fitting(uint64_t largest_compatible) {
    Evidence evidence = plain(50'000, 100'000, 60'000);
    evidence.extents.largest_compatible = largest_compatible;
    return evidence;
}

}  // namespace

TEST_CASE("fragmentation is primary from a margin of exactly the threshold") {
    const Verdict at = decide(plain(50'000, 65'000, 49'999));
    check_statuses(at, R, R, P, R);
    CHECK(at.of(fragmentation).margin == Wide{0});
    CHECK(at.of(live_set).margin == Wide{0});
    CHECK(at.exit_status() == 10);

    const Verdict below = decide(plain(50'000, 64'999, 49'999));
    check_statuses(below, P, R, C, R);
    CHECK(below.of(fragmentation).margin == Wide{-1});
    CHECK(below.of(live_set).margin == Wide{1});
}

TEST_CASE("a hole as large as the request is not fragmentation") {
    CHECK(decide(plain(50'000, 90'000, 49'999)).primary() == fragmentation);
    Evidence fitting_hole = plain(50'000, 90'000, 50'000);
    fitting_hole.extents.release = HoleRelease::separate;
    const Verdict fits = decide(fitting_hole);
    CHECK(has(fits, Qualifier::fit_ignored));
    check_statuses(fits, R, R, R, R);
    CHECK(fits.exit_status() == 10);
}

TEST_CASE("fragmentation says which free bytes would have sufficed") {
    CHECK(decide(plain(50'000, 65'000, 1)).of(fragmentation).qualifiers == Qualifier::strict);

    Evidence combined = plain(50'000, 49'999, 1);
    combined.device_free = Measure::observed(20'000);
    combined.segment_request = Measure::observed(50'000);
    CHECK(decide(combined).of(fragmentation).qualifiers == Qualifier::combined);
    combined.allocated = Measure::observed(850'000);
    CHECK(decide(combined).of(fragmentation).qualifiers == Qualifier::strict);

    Evidence just = plain(50'000, 65'000, 1);
    just.extents.incompatible = 30'000;
    just.device_free = Measure::observed(15'000);
    CHECK(decide(just).of(fragmentation).qualifiers == Qualifier::combined);
    just.device_free = Measure::observed(14'999);
    CHECK(decide(just).of(fragmentation).qualifiers == Qualifier::incompatible);

    Evidence incompatible = plain(50'000, 80'000, 1);
    incompatible.extents.incompatible = 30'001;
    CHECK(decide(incompatible).of(fragmentation).qualifiers == Qualifier::incompatible);
    incompatible.extents.incompatible = 30'000;
    CHECK(decide(incompatible).of(fragmentation).qualifiers == Qualifier::strict);
}

TEST_CASE("retention is primary when what was retained reaches the deficit") {
    const Verdict enough = decide(with_retained(lacking(40'000), 40'000));
    check_statuses(enough, R, P, C, R);
    CHECK(enough.of(retention).margin == Wide{0});

    const Verdict short_by_one = decide(with_retained(lacking(40'000), 39'999));
    check_statuses(short_by_one, P, C, C, R);
    CHECK(short_by_one.of(retention).margin == Wide{-1});
    CHECK(short_by_one.of(live_set).margin == Wide{1});
}

TEST_CASE("external pressure is primary when what could be removed reaches the deficit") {
    const Verdict enough = decide(with_others(lacking(40'000), 40'000));
    check_statuses(enough, R, R, C, P);
    CHECK(enough.of(external).margin == Wide{0});
    const Verdict short_by_one = decide(with_others(lacking(40'000), 39'999));
    check_statuses(short_by_one, P, R, C, C);
    CHECK(short_by_one.of(external).margin == Wide{-1});
}

TEST_CASE("of two sufficient reliefs the larger is primary and retention wins a tie") {
    const auto with = [](uint64_t retained, uint64_t others) {
        return decide(with_retained(with_others(lacking(40'000), others), retained));
    };
    check_statuses(with(50'000, 50'001), R, C, C, P);
    check_statuses(with(50'000, 50'000), R, P, C, C);
}

TEST_CASE("two reliefs that only together suffice are marked so and leave live-set contributing") {
    const auto with = [](uint64_t retained, uint64_t others) {
        return decide(with_retained(with_others(lacking(40'000), others), retained));
    };
    const Verdict together = with(25'000, 15'000);
    check_statuses(together, C, P, C, C);
    CHECK(together.of(retention).qualifiers.has(Qualifier::jointly));
    CHECK(together.of(external).qualifiers.has(Qualifier::jointly));
    CHECK(with(20'000, 20'000).primary() == retention);
    CHECK(with(19'999, 20'001).primary() == external);
    CHECK(with(24'999, 15'000).primary() == live_set);
}

TEST_CASE("a slow leak is primary when the same request was served in the last steps") {
    // Margin -1,000: the deficit is 16,000, a quarter of the threshold 3,750.
    Evidence slow = with_retained(lacking(16'000), 3'750);
    CHECK(decide(slow).primary() == live_set);
    slow.growth.request_repeated = true;
    const Verdict verdict = decide(slow);
    check_statuses(verdict, C, P, C, R);
    slow.growth.retained = 3'749;
    CHECK(decide(slow).primary() == live_set);

    Evidence deeper = with_retained(lacking(20'000), 5'000);  // margin -5,000
    deeper.growth.request_repeated = true;
    CHECK(decide(deeper).primary() == retention);
    deeper.growth.retained = 4'999;
    CHECK(decide(deeper).primary() == live_set);
}

TEST_CASE("a relief contributes from the threshold, or from a quarter of it that covers the shortfall") {
    const auto status = [](uint64_t deficit, uint64_t retained) {
        return decide(with_retained(lacking(deficit), retained)).of(retention).status;
    };
    CHECK(status(60'000, 15'000) == C);
    CHECK(status(60'000, 14'999) == R);
    CHECK(status(19'000, 4'000) == C);  // shortfall 4,000
    CHECK(status(19'000, 3'999) == R);
    CHECK(status(15'000, 3'750) == C);  // no shortfall
    CHECK(status(15'000, 3'749) == R);
}

TEST_CASE("reliefs may contribute to fragmentation, never replace it") {
    const Evidence evidence = with_retained(with_others(plain(50'000, 90'000, 1), 15'000), 90'000);
    check_statuses(decide(evidence), R, C, P, C);
}

TEST_CASE("near capacity is named between no shortfall and the threshold") {
    CHECK(has(decide(lacking(15'000)), Qualifier::near_capacity));
    CHECK_FALSE(has(decide(lacking(15'001)), Qualifier::near_capacity));
    CHECK_FALSE(has(decide(plain(50'000, 65'000, 1)), Qualifier::near_capacity));
}

TEST_CASE("near capacity a request that would have fitted packed makes fragmentation contribute") {
    Evidence evidence = plain(50'000, 50'000, 49'999);
    evidence.extents.fragmented = 0;
    evidence.extents.reusable = 50'000;
    const Verdict packed = decide(evidence);
    CHECK(packed.of(fragmentation).status == C);
    CHECK(packed.of(fragmentation).qualifiers.has(Qualifier::would_fit_packed));
    evidence.extents.incompatible = 1;
    CHECK(decide(evidence).of(fragmentation).status == R);
}

TEST_CASE("fragmented free bytes contribute from the threshold") {
    Evidence evidence = lacking(40'000);
    evidence.extents.fragmented = 15'000;
    CHECK(decide(evidence).of(fragmentation).status == C);
    evidence.extents.fragmented = 14'999;
    CHECK(decide(evidence).of(fragmentation).status == R);
}

TEST_CASE("a fitting hole freed during the failing operation is a deferred free") {
    Evidence evidence = fitting(50'000);
    evidence.extents.release = HoleRelease::overlaps;
    const Verdict deferred = decide(evidence);
    CHECK(has(deferred, Qualifier::deferred_free));
    check_statuses(deferred, R, R, R, R);
    CHECK(deferred.exit_status() == 10);

    evidence.extents.release = HoleRelease::unknown;
    const Verdict unknown = decide(evidence);
    CHECK(has(unknown, Qualifier::fit_ignored));
    CHECK(has(unknown, Qualifier::deferred_free_possible));

    evidence.extents.release = HoleRelease::separate;
    CHECK_FALSE(has(decide(evidence), Qualifier::deferred_free_possible));
}

TEST_CASE("a hole whose compatibility is unknown leaves the verdict open") {
    const Verdict open = decide(fitting(49'999));
    CHECK(has(open, Qualifier::fit_unexplained));
    check_statuses(open, R, R, U, R);
    CHECK(open.exit_status() == 11);

    Evidence full = lacking(40'000);
    full.extents.largest_not_excluded = 50'000;
    check_statuses(decide(full), U, R, U, R);
    full.extents.largest_not_excluded = 49'999;
    check_statuses(decide(full), P, R, C, R);
}

TEST_CASE("a refusal although the device had room is the driver's from the threshold") {
    Evidence evidence = plain(50'000, 0, 0);
    evidence.segment_request = Measure::observed(10'000);
    evidence.device_free = Measure::observed(25'000);
    const Verdict refused = decide(evidence);
    CHECK(has(refused, Qualifier::driver_refused));
    check_statuses(refused, R, R, R, R);
    CHECK(refused.exit_status() == 10);

    evidence.device_free = Measure::observed(24'999);
    const Verdict close = decide(evidence);
    CHECK(has(close, Qualifier::driver_refused));
    CHECK_FALSE(has(close, Qualifier::cap));
    CHECK(close.primary() == live_set);

    evidence.device_free = Measure::observed(10'000);
    CHECK(has(decide(evidence), Qualifier::driver_refused));
    evidence.device_free = Measure::observed(9'999);
    CHECK_FALSE(has(decide(evidence), Qualifier::driver_refused));

    evidence.device_free = Measure::observed(25'000);
    evidence.free_observed_at_failure = false;
    CHECK_FALSE(has(decide(evidence), Qualifier::driver_refused));
}

TEST_CASE("a request larger than the card is live-set pressure") {
    Evidence evidence = with_retained(plain(1'000'000, 0, 0), 900'000);
    CHECK_FALSE(has(decide(evidence), Qualifier::larger_than_card));
    evidence.request = Measure::observed(1'000'001);
    const Verdict verdict = decide(evidence);
    CHECK(has(verdict, Qualifier::larger_than_card));
    check_statuses(verdict, P, C, R, R);
}

TEST_CASE("a corrupt size settles nothing") {
    Evidence evidence = plain(50'000, 0, 0);
    evidence.request = Measure::observed(policy::kCorruptRequest_bytes);
    const Verdict verdict = decide(evidence);
    CHECK(has(verdict, Qualifier::corrupt_size));
    check_statuses(verdict, U, U, U, U);
    CHECK(verdict.exit_status() == 11);
    evidence.request = Measure::observed(policy::kCorruptRequest_bytes - 1);
    CHECK(has(decide(evidence), Qualifier::larger_than_card));
    evidence.request = Measure::observed(policy::kCorruptRequest_bytes);
    evidence.total = {};
    CHECK(has(decide(evidence), Qualifier::corrupt_size));
}

TEST_CASE("numbers that contradict each other settle nothing, unless declared gaps explain it") {
    const auto inconsistent = [](auto&& change) {
        Evidence evidence = plain(50'000, 100'000, 1'000);
        change(evidence);
        const Verdict verdict = decide(evidence);
        if (verdict.qualifiers.has(Qualifier::inconsistent_numbers)) {
            check_statuses(verdict, U, U, U, U);
            CHECK(verdict.exit_status() == 11);
            CHECK_FALSE(verdict.of(live_set).margin);
        }
        return verdict.qualifiers.has(Qualifier::inconsistent_numbers);
    };
    CHECK_FALSE(inconsistent([](Evidence& e) { e.deferred = Measure::observed(100'000); }));
    CHECK(inconsistent([](Evidence& e) { e.deferred = Measure::observed(100'001); }));
    CHECK_FALSE(inconsistent([](Evidence& e) { e.device_free = Measure::observed(100'000); }));
    CHECK(inconsistent([](Evidence& e) { e.device_free = Measure::observed(100'001); }));
    CHECK_FALSE(inconsistent([](Evidence& e) { e.reserved = Measure::observed(1'000'000); }));
    CHECK(inconsistent([](Evidence& e) { e.reserved = Measure::observed(1'000'001); }));
    CHECK(inconsistent([](Evidence& e) {
        e.reserved = e.allocated = Measure::observed(0);
        e.device_free = Measure::observed(1'000'001);
    }));
    CHECK_FALSE(inconsistent([](Evidence& e) {
        e.reserved = Measure::observed(1'000'007);
        e.uncertainty = 7;
    }));
    CHECK(inconsistent([](Evidence& e) {
        e.reserved = Measure::observed(1'000'008);
        e.uncertainty = 7;
    }));
}

TEST_CASE("every unknown number that nothing bounds leaves all four open") {
    for (Measure Evidence::*missing :
         {&Evidence::request, &Evidence::total, &Evidence::reserved, &Evidence::allocated}) {
        Evidence evidence = plain(50'000, 100'000, 1'000);
        evidence.*missing = {};
        if (missing == &Evidence::total) evidence.device_free = {};  // which would bound it
        const Verdict verdict = decide(evidence);
        check_statuses(verdict, U, U, U, U);
        CHECK(verdict.exit_status() == 11);
        CHECK_FALSE(verdict.numbers);
    }
}

TEST_CASE("the verdict says what it could not exclude and how the job went on") {
    Evidence evidence = lacking(40'000);
    CHECK(decide(evidence).qualifiers.empty());
    evidence.deferred = {};
    evidence.fatal = true;
    evidence.blind = true;
    evidence.incomplete = true;
    CHECK(decide(evidence).qualifiers.names() ==
          std::vector<std::string_view>{"blind", "deferred_free_not_excluded", "fatal", "incomplete"});
    evidence.survived = true;
    CHECK(has(decide(evidence), Qualifier::survived));
}
