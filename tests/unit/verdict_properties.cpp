// SPDX-License-Identifier: Apache-2.0
//
// What holds for every evidence, sensible or hostile: one status a hypothesis, at most one primary, an answer
// that follows from the statuses, the same verdict twice. Run under UBSan this is also the test that no
// combination of 64-bit extremes overflows.
#include <random>

#include "catch.h"
#include "explain.h"
#include "verdict.h"

using namespace memsnap;

namespace {

class Dice {
  public:
    explicit Dice(uint64_t seed) : engine_(seed) {}

    uint64_t upto(uint64_t bound) { return engine_() % (bound + 1); }
    bool flip() { return upto(1) == 1; }
    // Mostly numbers of one card, sometimes extremes.
    uint64_t bytes() {
        switch (upto(9)) {
            case 0:
                return 0;
            case 1:
                return UINT64_MAX - upto(2);
            case 2:
                return engine_();
            case 3:
                return uint64_t{1} << upto(63);
            default:
                return upto(1'000'000);
        }
    }
    Measure measure() {
        switch (upto(5)) {
            case 0:
                return {};
            case 1:
                return Measure::between(bytes(), bytes());
            default:
                return Measure::observed(bytes());
        }
    }
    template <class Enum>
    Enum one_of(Enum last) {
        return static_cast<Enum>(upto(static_cast<uint64_t>(last)));
    }

  private:
    std::mt19937_64 engine_;
};

Evidence random_evidence(Dice& dice) {
    Evidence evidence;
    evidence.allocator = dice.one_of(FailedAllocator::foreign);
    evidence.device_call = dice.one_of(DeviceCall::failed);
    evidence.free_observed_at_failure = dice.flip();
    for (Measure Evidence::*field : {&Evidence::request, &Evidence::segment_request, &Evidence::total,
                                     &Evidence::device_free, &Evidence::reserved, &Evidence::allocated,
                                     &Evidence::deferred, &Evidence::releasable, &Evidence::cap}) {
        evidence.*field = dice.measure();
    }
    if (dice.flip()) {  // a card whose parts fit together
        evidence.total = Measure::observed(1'000'000);
        evidence.reserved = Measure::observed(dice.upto(1'000'000));
        evidence.allocated = Measure::observed(dice.upto(evidence.reserved.low));
        evidence.device_free = Measure::observed(dice.upto(1'000'000 - evidence.reserved.low));
        evidence.deferred = Measure::observed(0);
        evidence.request = Measure::observed(dice.upto(200'000));
    }
    evidence.uncertainty = dice.flip() ? 0 : dice.bytes();
    evidence.extents.known = dice.flip();
    for (uint64_t Extents::*field : {&Extents::largest_compatible, &Extents::largest_not_excluded,
                                     &Extents::reusable, &Extents::fragmented, &Extents::incompatible}) {
        evidence.extents.*field = dice.bytes();
    }
    evidence.extents.release = dice.one_of(HoleRelease::overlaps);
    evidence.growth.basis = dice.one_of(GrowthBasis::lapped);
    evidence.growth.retained = dice.bytes();
    evidence.growth.request_repeated = dice.flip();
    evidence.outside.others = dice.measure();
    evidence.outside.named_bytes = dice.bytes();
    evidence.outside.named_growth = dice.bytes();
    evidence.outside.baseline_outside = dice.measure();
    evidence.outside.baseline_unattributed = dice.measure();
    evidence.outside.earlier_outside = dice.measure();
    return evidence;
}

unsigned count(const Verdict& verdict, Status status) {
    unsigned found = 0;
    for (const Hypothesis one : kHypotheses)
        found += verdict.of(one).status == status ? 1 : 0;
    return found;
}

bool same(const Verdict& a, const Verdict& b) {
    for (const Hypothesis one : kHypotheses) {
        const Finding& left = a.of(one);
        const Finding& right = b.of(one);
        if (left.status != right.status || left.margin != right.margin ||
            left.margin_high != right.margin_high || left.qualifiers != right.qualifiers) {
            return false;
        }
    }
    return a.qualifiers == b.qualifiers && a.answered == b.answered;
}

}  // namespace

TEST_CASE(
    "every evidence leads to one status a hypothesis, at most one primary and the matching exit status") {
    Dice dice(20'260'101);
    for (int round = 0; round < 60'000; ++round) {
        const Evidence evidence = random_evidence(dice);
        const Verdict verdict = decide(evidence);
        const unsigned primaries = count(verdict, Status::primary);
        REQUIRE(primaries <= 1);
        REQUIRE((primaries == 1) == verdict.primary().has_value());
        REQUIRE_FALSE((verdict.answered && primaries == 1));
        if (verdict.answered) REQUIRE(count(verdict, Status::rejected) == 4);
        if (verdict.exit_status() == 11) REQUIRE(count(verdict, Status::undecidable) > 0);
        REQUIRE(same(verdict, decide(evidence)));
    }
}

TEST_CASE("every printed inequality is true and names only what was asked for") {
    Dice dice(7);
    for (int round = 0; round < 5'000; ++round) {
        const Evidence evidence = random_evidence(dice);
        const Explanations explanations = explain(evidence, decide(evidence));
        for (const Explanation& explanation : explanations) {
            for (const Clause& clause : explanation.clauses) {
                Wide left = 0;
                Wide right = 0;
                for (const Term& term : clause.left)
                    left += term.subtracted ? -term.value : term.value;
                for (const Term& term : clause.right)
                    right += term.subtracted ? -term.value : term.value;
                switch (clause.relation) {
                    case Relation::greater:
                        REQUIRE(left > right);
                        break;
                    case Relation::at_least:
                        REQUIRE(left >= right);
                        break;
                    case Relation::less:
                        REQUIRE(left < right);
                        break;
                    case Relation::at_most:
                        REQUIRE(left <= right);
                        break;
                }
            }
        }
    }
}

TEST_CASE("more retained bytes never turn retention from primary to anything else") {
    Dice dice(11);
    for (int round = 0; round < 20'000; ++round) {
        Evidence evidence = random_evidence(dice);
        evidence.growth.basis = GrowthBasis::marked;
        if (decide(evidence).primary() != Hypothesis::retention) continue;
        if (evidence.growth.retained > UINT64_MAX / 2) continue;
        evidence.growth.retained += 1 + dice.upto(1'000);
        REQUIRE(decide(evidence).primary() == Hypothesis::retention);
    }
}
