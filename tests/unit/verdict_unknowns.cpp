// SPDX-License-Identifier: Apache-2.0
//
// What the verdict does where evidence is missing or only bounded: intervals are decided at both ends, growth
// counts only as far as its boundaries can be trusted, outside bytes only as far as they are known.
#include "catch.h"
#include "evidence_builder.h"
#include "policy.h"
#include "verdict.h"

using namespace memsnap;
using namespace memsnap::test;
using enum Hypothesis;

namespace {

bool has(const Verdict& verdict, Qualifier qualifier) {
    return verdict.qualifiers.has(qualifier);
}

Evidence grown(GrowthBasis basis, uint64_t deficit, uint64_t retained) {
    Evidence evidence = with_retained(lacking(deficit), retained);
    evidence.growth.basis = basis;
    return evidence;
}

// No device call, and the device had room for the segment: a limit is at work.
Evidence capped(uint64_t slack, uint64_t device_free) {
    Evidence evidence = plain(50'000, slack, 1'000);
    evidence.device_call = DeviceCall::none_made;
    evidence.segment_request = Measure::observed(50'000);
    evidence.device_free = Measure::observed(device_free);
    return evidence;
}

// Other processes unknown, on a card of 10 GiB with `outside` beside a full cache of live blocks.
constexpr uint64_t kGiB = uint64_t{1} << 30;
Evidence unnamed_outside(uint64_t outside) {
    Evidence evidence = plain(kGiB, 0, 0);
    evidence.total = Measure::observed(10 * kGiB);
    evidence.reserved = evidence.allocated = Measure::observed(10 * kGiB - outside);
    evidence.outside.others = {};
    return evidence;
}
const uint64_t kBigThreshold = 10 * kGiB * 15 / 1000;

}  // namespace

TEST_CASE("growth between module calls is decided as between steps, and is marked inferred") {
    Evidence evidence = grown(GrowthBasis::marked, 40'000, 40'000);
    CHECK(decide(evidence).of(retention).status == Status::primary);
    CHECK(decide(evidence).of(retention).qualifiers.empty());
    evidence.growth.module_calls = true;
    CHECK(decide(evidence).of(retention).status == Status::primary);
    CHECK(decide(evidence).of(retention).qualifiers == Qualifier::inferred);
    evidence.growth.basis = GrowthBasis::too_few;
    CHECK(!decide(evidence).of(retention).qualifiers.has(Qualifier::inferred));
}

TEST_CASE("growth between certified boundaries counts and is marked inferred") {
    const Verdict verdict = decide(grown(GrowthBasis::certified, 40'000, 40'000));
    CHECK(verdict.primary() == retention);
    CHECK(verdict.of(retention).qualifiers == Qualifier::inferred);
}

TEST_CASE("growth between uncertified boundaries never decides") {
    const Verdict enough = decide(grown(GrowthBasis::uncertified, 40'000, 40'000));
    CHECK(enough.primary() == live_set);
    CHECK(enough.of(retention).status == Status::undecidable);
    CHECK(enough.of(retention).margin == Wide{-40'000});
    CHECK(enough.of(retention).margin_high == Wide{0});
    CHECK(has(enough, Qualifier::growth_unmarked));
    CHECK(enough.exit_status() == 10);

    const Verdict less = decide(grown(GrowthBasis::uncertified, 40'000, 39'999));
    CHECK(less.of(retention).status == Status::undecidable);
    CHECK_FALSE(has(less, Qualifier::growth_unmarked));
}

TEST_CASE("with too few boundaries retention is rejected only below deficit and threshold") {
    const auto status = [](uint64_t deficit, uint64_t at_most) {
        return decide(grown(GrowthBasis::too_few, deficit, at_most)).of(retention).status;
    };
    CHECK(status(40'000, 14'999) == Status::rejected);
    CHECK(status(40'000, 15'000) == Status::undecidable);
    CHECK(status(10'000, 9'999) == Status::rejected);
    CHECK(status(10'000, 10'000) == Status::undecidable);
    CHECK(has(decide(grown(GrowthBasis::too_few, 40'000, 15'000)), Qualifier::too_few_boundaries));
    CHECK_FALSE(has(decide(grown(GrowthBasis::too_few, 40'000, 14'999)), Qualifier::too_few_boundaries));

    Evidence with_room = with_retained(plain(50'000, 90'000, 1), 14'999);
    with_room.growth.basis = GrowthBasis::too_few;
    CHECK(decide(with_room).of(retention).status == Status::rejected);
    with_room.growth.retained = 15'000;
    CHECK(decide(with_room).of(retention).status == Status::undecidable);
}

TEST_CASE("boundaries that lapped leave retention open and decide the rest without it") {
    const Verdict verdict = decide(grown(GrowthBasis::lapped, 40'000, 400'000));
    CHECK(verdict.primary() == live_set);
    CHECK(verdict.of(retention).status == Status::undecidable);
    CHECK(has(verdict, Qualifier::boundaries_lapped));
}

TEST_CASE("unnamed outside bytes count above what a context explains") {
    const uint64_t allowance = policy::kUnnamedOutsideAllowance_bytes;
    const uint64_t deficit = kGiB + kBigThreshold;
    const Verdict enough = decide(unnamed_outside(allowance + deficit));
    CHECK(enough.primary() == external);
    CHECK(enough.of(external).margin == Wide{0});
    CHECK(enough.of(external).qualifiers.has(Qualifier::holder_unknown));

    const Verdict less = decide(unnamed_outside(allowance + deficit - 1));
    CHECK(less.primary() == live_set);
    CHECK(less.of(external).status == Status::undecidable);
    CHECK(less.of(external).margin == Wide{-1});
    CHECK(less.of(external).margin_high == Wide{allowance} - 1);

    Evidence baseline = unnamed_outside(allowance + deficit);
    baseline.outside.baseline_outside = Measure::observed(allowance);
    CHECK(decide(baseline).primary() == external);
    baseline.outside.baseline_outside = Measure::observed(allowance + 1);
    CHECK(decide(baseline).primary() == live_set);
}

TEST_CASE("outside bytes that cannot matter at either bound are rejected") {
    // The upper bound is what is outside: below a quarter of the threshold it cannot contribute.
    Evidence evidence = plain(50'000, 0, 0);
    evidence.outside.others = {};
    evidence.allocated = evidence.reserved = Measure::observed(1'000'000 - 14'999);
    CHECK(decide(evidence).of(external).status == Status::rejected);
    evidence.allocated = evidence.reserved = Measure::observed(1'000'000 - 15'000);
    CHECK(decide(evidence).of(external).status == Status::undecidable);
}

TEST_CASE("outside bytes with names add up to what is removable") {
    Evidence evidence = unnamed_outside(5 * kGiB);
    evidence.outside.others = Measure::observed(kGiB);
    evidence.outside.named_bytes = kGiB;
    evidence.outside.named_growth = kGiB / 4;
    evidence.outside.baseline_unattributed = Measure::derived(2 * kGiB);
    const Verdict verdict = decide(evidence);
    REQUIRE(verdict.numbers);
    // others + growth of the named + (5 - 1 - 1) - 2
    CHECK(verdict.numbers->removable == Wide{kGiB + kGiB / 4 + kGiB});
    evidence.outside.others = Measure::observed(9 * kGiB);
    CHECK(decide(evidence).numbers->removable == Wide{5 * kGiB});
}

TEST_CASE("an external finding says whose bytes they are") {
    Evidence evidence = with_others(lacking(40'000), 40'000);
    CHECK(decide(evidence).of(external).qualifiers.empty());
    evidence.outside.holder_shares_job = true;
    CHECK(decide(evidence).of(external).qualifiers == Qualifier::same_job);
    evidence.outside.holder_shares_job = false;

    evidence.outside.earlier_outside = Measure::observed(80'000);
    CHECK(decide(evidence).of(external).qualifiers == Qualifier::transient);
    evidence.outside.earlier_outside = Measure::observed(80'001);
    CHECK(decide(evidence).of(external).qualifiers.empty());
    evidence.outside.earlier_outside = {};

    evidence.outside.others = Measure::observed(20'000);
    evidence.outside.named_bytes = evidence.outside.named_growth = 20'000;
    CHECK(decide(evidence).of(external).qualifiers == Qualifier::in_process);
    evidence.outside.others = Measure::observed(20'001);
    evidence.outside.named_growth = 19'999;
    CHECK(decide(evidence).of(external).qualifiers.empty());
}

TEST_CASE("under a limit that binds, what others hold is not what was missing") {
    Evidence evidence = with_others(capped(0, 100'000), 100'000);
    evidence.cap = Measure::observed(900'000);
    const Verdict binding = decide(evidence);
    CHECK(has(binding, Qualifier::cap));
    CHECK(binding.primary() == live_set);
    CHECK(binding.of(external).status == Status::rejected);
    CHECK(binding.numbers->available == Wide{900'000});

    evidence = with_others(lacking(40'000), 40'000);
    evidence.cap = Measure::observed(899'999);
    CHECK(decide(evidence).numbers->removable == Wide{0});
    evidence.cap = Measure::observed(900'000);
    CHECK(decide(evidence).numbers->removable == Wide{40'000});
}

TEST_CASE("a limit decides the margin instead of the device's free bytes") {
    Evidence evidence = capped(65'000, 100'000);
    evidence.cap = Measure::observed(900'000);
    CHECK(decide(evidence).primary() == fragmentation);
    evidence.cap = Measure::observed(899'999);
    CHECK(decide(evidence).primary() == live_set);
}

TEST_CASE("a refusal without a device call although the device had room implies a limit") {
    // With the limit at 900,000 the margin is slack - 50,000; at 949,999 it is slack - 1.
    const Verdict fragmented = decide(capped(65'000, 100'000));
    CHECK(has(fragmented, Qualifier::cap));
    CHECK_FALSE(has(fragmented, Qualifier::cap_or_driver_refused));
    CHECK(fragmented.primary() == fragmentation);

    const Verdict open = decide(capped(64'999, 100'000));
    CHECK(open.of(fragmentation).status == Status::undecidable);
    CHECK(open.of(live_set).status == Status::undecidable);
    CHECK(open.exit_status() == 11);
    CHECK(open.of(fragmentation).margin == Wide{-1});
    CHECK(open.of(fragmentation).margin_high == Wide{49'998});

    const Verdict full = decide(capped(15'000, 100'000));
    CHECK(full.primary() == live_set);

    CHECK(has(decide(capped(65'000, 50'000)), Qualifier::cap));
    CHECK_FALSE(has(decide(capped(65'000, 49'999)), Qualifier::cap));
}

TEST_CASE("where it is unknown whether the device was asked, a limit or the driver refused") {
    Evidence evidence = capped(65'000, 100'000);
    evidence.device_call = DeviceCall::unknown;
    const Verdict verdict = decide(evidence);
    CHECK(has(verdict, Qualifier::cap_or_driver_refused));
    CHECK(verdict.primary() == fragmentation);
}

TEST_CASE("unknown device-free after a refusal lies below what was refused") {
    Evidence evidence = plain(50'000, 15'001, 1'000);
    evidence.device_free = {};
    const Verdict both_ends_short = decide(evidence);  // margins -34,999 and 15,000
    CHECK(both_ends_short.of(fragmentation).status == Status::undecidable);
    evidence = plain(50'000, 15'000, 1'000);
    evidence.device_free = {};
    CHECK(decide(evidence).primary() == live_set);
    evidence = plain(50'000, 65'000, 1'000);
    evidence.device_free = {};
    CHECK(decide(evidence).primary() == fragmentation);
}

TEST_CASE("unknown device-free without a refusal is anything beside the cache") {
    Evidence evidence = plain(50'000, 0, 0);
    evidence.device_free = {};
    evidence.device_call = DeviceCall::unknown;
    CHECK(decide(evidence).of(fragmentation).margin == Wide{-65'000});
    CHECK(decide(evidence).of(fragmentation).margin_high == Wide{35'000});
}

TEST_CASE("on a card of unknown size only what holds for every card is decided") {
    const Wide highest = Wide{policy::kLargestCard_bytes} * 15 / 1000;
    const auto decided = [](Wide margin) {
        Evidence evidence = plain(50'000, 0, 1'000);
        evidence.total = {};
        evidence.reserved = Measure::observed(uint64_t{1} << 35);
        evidence.allocated = Measure::observed((uint64_t{1} << 35) - 50'000 - static_cast<uint64_t>(margin));
        return decide(evidence);
    };
    const Verdict room = decided(highest);
    CHECK(room.primary() == fragmentation);
    CHECK(room.of(live_set).status == Status::rejected);
    CHECK(room.of(fragmentation).margin == Wide{0});
    CHECK(room.of(fragmentation).margin_high == highest - (Wide{1} << 35) * 15 / 1000);
    CHECK(room.numbers->outside == Wide{0});
    const Verdict less = decided(highest - 1);
    CHECK(less.of(fragmentation).status == Status::undecidable);
    CHECK(less.of(fragmentation).margin == Wide{-1});
    CHECK(less.exit_status() == 11);
}

TEST_CASE("between the smallest and the largest card the live set may be the cause") {
    // Room on the smallest, others on the largest; on a card in between neither.
    Evidence evidence = plain(50'000, 50'000 + 20'000, 1'000);
    evidence.total = {};
    const Verdict verdict = decide(evidence);
    CHECK(verdict.of(live_set).status == Status::undecidable);
    CHECK(verdict.of(external).status == Status::undecidable);
    CHECK(verdict.of(fragmentation).status == Status::undecidable);
}

TEST_CASE("what lacks on every card is the live set or others, which the card's size would tell") {
    Evidence evidence = lacking(kThreshold_bytes + 5'000);
    evidence.total = {};
    const Verdict verdict = decide(evidence);
    CHECK(verdict.numbers);
    CHECK(verdict.of(live_set).status == Status::undecidable);
    CHECK(verdict.of(external).status == Status::undecidable);
    // Where bytes outside begin to count none is removable yet.
    const uint64_t turn = 900'000 + policy::kUnnamedOutsideAllowance_bytes;
    CHECK(verdict.of(external).margin == -Wide{turn * 15 / 1000 + 5'000});
}

TEST_CASE("a card larger than any is just as large as what it holds") {
    Evidence evidence = plain(50'000, 0, 0);
    evidence.total = {};
    evidence.reserved = evidence.allocated = Measure::observed(policy::kLargestCard_bytes);
    evidence.device_free = Measure::observed(1);
    const Verdict verdict = decide(evidence);
    CHECK(verdict.primary() == live_set);
    CHECK(verdict.numbers->threshold == (Wide{policy::kLargestCard_bytes} + 1) * 15 / 1000);
    // Beyond 64 bits too.
    evidence.device_free = Measure::observed(UINT64_MAX - 1);
    CHECK(decide(evidence).numbers->available == Wide{UINT64_MAX} - 1 + policy::kLargestCard_bytes);
}

TEST_CASE("without the card's size and what was free nothing is decided") {
    Evidence evidence = plain(50'000, 65'000, 1'000);
    evidence.total = {};
    evidence.device_free = {};
    CHECK_FALSE(decide(evidence).numbers);
    CHECK(decide(evidence).exit_status() == 11);
}

TEST_CASE("printed numbers are decided at both ends") {
    Evidence evidence = plain(50'000, 0, 0);
    evidence.extents = {};
    evidence.allocated = Measure::between(830'000, 835'000);
    CHECK(decide(evidence).primary() == fragmentation);
    evidence.allocated = Measure::between(830'000, 835'001);
    CHECK_FALSE(decide(evidence).primary());
    evidence.allocated = Measure::between(835'001, 840'000);
    CHECK(decide(evidence).primary() == live_set);
}

TEST_CASE("a cache that holds what another allocator needed is the answer") {
    Evidence evidence = plain(0, 60'000, 0);
    evidence.allocator = FailedAllocator::foreign;
    evidence.request = {};
    evidence.segment_request = Measure::observed(50'000);
    evidence.releasable = Measure::derived(50'000);
    const Verdict hoarding = decide(evidence);
    CHECK(has(hoarding, Qualifier::cache_hoarding));
    CHECK(hoarding.exit_status() == 10);
    CHECK_FALSE(hoarding.primary());

    evidence.releasable = Measure::derived(49'999);
    CHECK(has(decide(evidence), Qualifier::cache_pinned));
    evidence.allocated = Measure::observed(850'000);
    CHECK(has(decide(evidence), Qualifier::cache_pinned));
    evidence.allocated = Measure::observed(850'001);
    const Verdict live = decide(evidence);
    CHECK(live.primary() == live_set);
    CHECK(live.of(live_set).margin == Wide{15'001});

    evidence.device_free = Measure::observed(50'000);
    CHECK(has(decide(evidence), Qualifier::driver_refused));
}

TEST_CASE("a foreign failure whose device-free is unknown names every answer that its bounds allow") {
    Evidence evidence = plain(0, 60'000, 0);
    evidence.allocator = FailedAllocator::foreign;
    evidence.segment_request = Measure::observed(50'000);
    evidence.device_free = {};
    evidence.releasable = Measure::derived(10'000);
    const Verdict either = decide(evidence);
    CHECK(has(either, Qualifier::cache_hoarding));
    CHECK(has(either, Qualifier::cache_pinned));
    CHECK(either.exit_status() == 10);

    evidence.allocated = Measure::observed(860'000);  // slack 40,000: at no device-free neither holds
    const Verdict open = decide(evidence);
    CHECK(open.of(live_set).status == Status::undecidable);
    CHECK(open.exit_status() == 11);
}
