// SPDX-License-Identifier: Apache-2.0
//
// The decision, one inequality a test. Rule: both sides of each bound, one unit apart, and nothing else
// changed.
#include "oracle/decide.h"
#include "catch.h"
#include "oracle/inequality.h"
#include "oracle/thresholds.h"

using namespace oracle;
using namespace oracle::thresholds;

namespace {

constexpr Int kGiB = 1024 * kMiB;

// A card of 100 GiB (threshold 1.5 GiB) that is full of live blocks; marked boundaries, no growth, nobody
// else on it.
Question full_card() {
    Question q;
    q.request_bytes = 2 * kGiB;
    q.segment_request_bytes = 2 * kGiB;
    q.device_call = DeviceCall::kFailed;
    q.total_bytes = 100 * kGiB;
    q.device_free_bytes = kGiB;
    q.reserved_bytes = 99 * kGiB;
    q.active_bytes = 99 * kGiB;
    q.deferred_known = true;
    q.others_bytes = 0;
    q.basis = Basis::kMarked;
    return q;
}
constexpr Int kThreshold = 100 * kGiB * 15 / 1000;

Standing standing(const Question& q, Hypothesis hypothesis) {
    return decide(q).opinions[hypothesis].standing;
}
bool qualified(const Question& q, std::string_view word) {
    return decide(q).qualifiers.contains(word);
}
bool qualified(const Question& q, Hypothesis hypothesis, std::string_view word) {
    return decide(q).opinions[hypothesis].qualifiers.contains(word);
}
// Blocks that leave exactly this margin.
Question with_margin(Int margin) {
    auto q = full_card();
    q.active_bytes = *q.device_free_bytes + q.reserved_bytes - *q.request_bytes - margin;
    q.fragmented_bytes = q.slack_bytes();
    return q;
}

}  // namespace

TEST_CASE("a full card is live-set") {
    auto decision = decide(full_card());
    CHECK(decision.primary() == kLiveSet);
    CHECK(decision.numbers->deficit == kThreshold + kGiB);
    CHECK(inequality_of(kLiveSet, full_card(), decision) ==
          "available 107374182400 - active 106300440576 - request 2147483648 = -1073741824 < threshold "
          "1610612736 and deficit 2684354560 > retained 0");
}

TEST_CASE("the margin decides between fragmentation and the rest") {
    CHECK(standing(with_margin(kThreshold), kFragmentation) == Standing::kPrimary);
    CHECK(standing(with_margin(kThreshold), kLiveSet) == Standing::kRejected);
    CHECK(standing(with_margin(kThreshold - 1), kLiveSet) == Standing::kPrimary);
    CHECK(qualified(with_margin(0), "near_capacity"));
    CHECK_FALSE(qualified(with_margin(-1), "near_capacity"));
}

TEST_CASE("fragmented free bytes contribute from the threshold on") {
    auto q = with_margin(-1);
    q.fragmented_bytes = kThreshold;
    CHECK(standing(q, kFragmentation) == Standing::kContributing);
    --q.fragmented_bytes;
    CHECK(standing(q, kFragmentation) == Standing::kRejected);
}

TEST_CASE("the kind of fragmentation follows from the compatible free bytes") {
    auto q = with_margin(kThreshold);
    q.incompatible_bytes = q.slack_bytes() - *q.request_bytes;
    CHECK(qualified(q, kFragmentation, "strict"));
    ++q.incompatible_bytes;
    CHECK(qualified(q, kFragmentation, "combined"));
    q.incompatible_bytes += kGiB - 1;
    CHECK(qualified(q, kFragmentation, "combined"));
    ++q.incompatible_bytes;
    CHECK(qualified(q, kFragmentation, "incompatible"));
}

TEST_CASE("retention is primary when it makes up the deficit") {
    auto q = full_card();
    q.retained_bytes = kThreshold + kGiB;
    CHECK(standing(q, kRetention) == Standing::kPrimary);
    CHECK(standing(q, kLiveSet) == Standing::kRejected);
    --q.retained_bytes;
    CHECK(standing(q, kRetention) == Standing::kContributing);
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
}

TEST_CASE("retention contributes from the floor on") {
    auto q = with_margin(0);
    q.retained_bytes = kThreshold / 4;
    CHECK(standing(q, kRetention) == Standing::kContributing);
    --q.retained_bytes;
    CHECK(standing(q, kRetention) == Standing::kRejected);
}

TEST_CASE("a repeated request lets a slow leak suffice") {
    auto q = with_margin(-kThreshold / 2);
    q.request_repeated = true;
    q.retained_bytes = kThreshold / 2;
    CHECK(standing(q, kRetention) == Standing::kPrimary);
    CHECK(standing(q, kLiveSet) == Standing::kContributing);
    --q.retained_bytes;
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
}

TEST_CASE("external is primary when it makes up the deficit, and the tie goes to retention") {
    auto q = full_card();
    Int deficit = kThreshold + 2 * kGiB;
    q.device_free_bytes = 0;
    q.reserved_bytes = q.active_bytes = 100 * kGiB - deficit;
    q.others_bytes = deficit;
    CHECK(standing(q, kExternal) == Standing::kPrimary);
    CHECK(standing(q, kLiveSet) == Standing::kRejected);
    q.others_bytes = deficit - 1;
    CHECK(standing(q, kExternal) == Standing::kContributing);
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
    q.others_bytes = q.retained_bytes = deficit;
    CHECK(standing(q, kRetention) == Standing::kPrimary);
    CHECK(standing(q, kExternal) == Standing::kContributing);
}

TEST_CASE("retention and external together are primary and contributing, jointly") {
    auto q = full_card();
    q.reserved_bytes = q.active_bytes = 98 * kGiB;
    q.device_free_bytes = kGiB;
    q.others_bytes = kGiB;
    Int deficit = decide(q).numbers->deficit;
    q.retained_bytes = deficit - kGiB;
    CHECK(standing(q, kRetention) == Standing::kPrimary);
    CHECK(standing(q, kExternal) == Standing::kContributing);
    CHECK(standing(q, kLiveSet) == Standing::kContributing);
    CHECK(qualified(q, kExternal, "jointly"));
    auto together = " and retained " + digits(deficit - kGiB) + " + removable_outside " + digits(kGiB) +
                    " = " + digits(deficit) + " >= deficit " + digits(deficit);
    CHECK(inequality_of(kRetention, q, decide(q)).ends_with(together));
    CHECK(inequality_of(kExternal, q, decide(q)).ends_with(together));
    CHECK_FALSE(inequality_of(kLiveSet, q, decide(q)).ends_with(together));
    --q.retained_bytes;
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
    CHECK_FALSE(inequality_of(kRetention, q, decide(q)).contains(" + removable_outside "));
}

TEST_CASE("too few boundaries reject retention only below threshold and deficit") {
    auto q = full_card();
    q.basis = Basis::kTooFew;
    q.retained_bytes = kThreshold - 1;
    CHECK(standing(q, kRetention) == Standing::kRejected);
    q.retained_bytes = kThreshold;
    CHECK(standing(q, kRetention) == Standing::kUndecidable);
    CHECK(qualified(q, "too_few_boundaries"));
}

TEST_CASE("growth between marked module calls is said to be inferred") {
    auto q = full_card();
    CHECK_FALSE(qualified(q, kRetention, "inferred"));
    q.points_are_module_calls = true;
    CHECK(qualified(q, kRetention, "inferred"));
    q.basis = Basis::kTooFew;
    CHECK_FALSE(qualified(q, kRetention, "inferred"));
}

TEST_CASE("uncertified growth is never retention") {
    auto q = full_card();
    q.basis = Basis::kUncertified;
    q.retained_bytes = 50 * kGiB;
    CHECK(standing(q, kRetention) == Standing::kUndecidable);
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
    CHECK(qualified(q, "growth_unmarked"));
    q.retained_bytes = kThreshold + kGiB - 1;
    CHECK_FALSE(qualified(q, "growth_unmarked"));
}

TEST_CASE("a hole that fits is an answer when it is compatible and unexplained when that is unknown") {
    auto q = with_margin(kThreshold);
    q.largest_bytes = *q.request_bytes;
    CHECK(qualified(q, "fit_unexplained"));
    CHECK(standing(q, kFragmentation) == Standing::kUndecidable);
    q.largest_compatible_bytes = *q.request_bytes;
    CHECK(decide(q).answers == Words{"fit_ignored"});
    CHECK(qualified(q, "deferred_free_possible"));
    q.hole_release = HoleRelease::kOverlaps;
    CHECK(decide(q).answers == Words{"deferred_free"});
    q.largest_bytes = q.largest_compatible_bytes = *q.request_bytes - 1;
    CHECK_FALSE(qualified(q, "fit_unexplained"));
    CHECK(decide(q).answers.empty());
}

TEST_CASE("the driver refused what it had when the threshold is left over") {
    auto q = full_card();
    q.free_observed_at_failure = true;
    q.segment_request_bytes = kMiB;
    q.device_free_bytes = kMiB + kThreshold;
    q.reserved_bytes = q.active_bytes = 98 * kGiB;
    CHECK(decide(q).answers == Words{"driver_refused"});
    q.device_free_bytes = *q.device_free_bytes - 1;
    CHECK(decide(q).answers.empty());
    CHECK(qualified(q, "driver_refused"));
    q.device_free_bytes = kMiB - 1;
    CHECK_FALSE(qualified(q, "driver_refused"));
}

TEST_CASE("a foreign victim is answered by what PyTorch's cache holds") {
    auto q = full_card();
    q.victim = Victim::kForeign;
    q.segment_request_bytes = kGiB;
    q.request_bytes = kGiB;
    q.active_bytes = q.reserved_bytes - kGiB;
    q.device_free_bytes = 0;
    q.releasable_bytes = kGiB;
    CHECK(decide(q).answers == Words{"cache_hoarding"});
    --q.releasable_bytes;
    CHECK(decide(q).answers == Words{"cache_pinned"});
    ++q.active_bytes;
    CHECK(decide(q).answers.empty());
    CHECK(decide(q).primary() == kLiveSet);
    q.device_free_bytes = kGiB;
    CHECK(decide(q).answers == Words{"driver_refused"});
}

TEST_CASE("the cap is PyTorch's own and binds no other library") {
    auto q = full_card();
    q.victim = Victim::kForeign;
    q.releasable_bytes = kGiB / 2;
    q.cap_bytes = 1;
    CHECK_FALSE(qualified(q, "cap"));
    CHECK(decide(q).numbers->available == kGiB + kGiB / 2);
}

TEST_CASE("a cap binds only below what the card has") {
    auto q = full_card();
    q.cap_bytes = 100 * kGiB;
    CHECK_FALSE(qualified(q, "cap"));
    q.cap_bytes = 100 * kGiB - 1;
    CHECK(qualified(q, "cap"));
    CHECK(decide(q).numbers->available == 100 * kGiB - 1);
    CHECK(decide(q).numbers->available == 100 * kGiB - 1);
    CHECK(decide(q).numbers->removable_upper == 0);
}

TEST_CASE(
    "external contributes when both ends of its relief say the same and is undecidable when they differ") {
    auto q = full_card();
    q.others_bytes.reset();
    q.device_free_bytes = 0;
    Int deficit = kThreshold + 2 * kGiB;
    q.reserved_bytes = q.active_bytes = 100 * kGiB - kOutsideAllowanceBytes - kThreshold;
    CHECK(standing(q, kExternal) == Standing::kContributing);
    CHECK(qualified(q, kExternal, "holder_unknown"));
    ++q.reserved_bytes;
    ++q.active_bytes;
    CHECK(standing(q, kExternal) == Standing::kUndecidable);
    q.reserved_bytes = q.active_bytes = 100 * kGiB - deficit;
    CHECK(standing(q, kExternal) == Standing::kUndecidable);
    q.reserved_bytes = q.active_bytes = 100 * kGiB - kThreshold + 1;
    CHECK(standing(q, kExternal) == Standing::kRejected);
}

TEST_CASE("every combination answered, but differently, keeps all answers") {
    auto q = full_card();
    q.victim = Victim::kForeign;
    q.request_bytes = q.segment_request_bytes = 2 * kGiB;
    q.device_free_bytes.reset();
    q.active_bytes = q.reserved_bytes - 2 * kGiB;
    q.releasable_bytes = 2 * kGiB - 1;
    CHECK(decide(q).answers == Words{"cache_hoarding", "cache_pinned"});
    ++q.active_bytes;
    CHECK(decide(q).answers.empty());
}

TEST_CASE("a request as large as the card still fits, one byte more does not") {
    auto q = full_card();
    q.request_bytes = q.total_bytes;
    CHECK_FALSE(qualified(q, "larger_than_card"));
    q.request_bytes = *q.total_bytes + 1;
    CHECK(qualified(q, "larger_than_card"));
}

TEST_CASE("numbers that contradict each other settle nothing") {
    auto q = full_card();
    q.device_free_bytes = kGiB + 1;
    CHECK(qualified(q, "inconsistent_numbers"));
    CHECK_FALSE(decide(q).numbers);
    q.uncertainty_bytes = 1;
    CHECK_FALSE(qualified(q, "inconsistent_numbers"));
    q.request_bytes = kCorruptRequestBytes;
    CHECK(qualified(q, "corrupt_size"));
    q.request_bytes = kCorruptRequestBytes - 1;
    CHECK_FALSE(qualified(q, "corrupt_size"));
}

TEST_CASE("unknown device-free bytes are bounded by what the refused call could not get") {
    auto q = full_card();
    q.device_free_bytes.reset();
    q.reserved_bytes = q.active_bytes = 90 * kGiB;
    auto decision = decide(q);
    CHECK(decision.numbers->available == 90 * kGiB);
    CHECK(decision.margins[kFragmentation]->high - decision.margins[kFragmentation]->low == 2 * kGiB - 1);
}

TEST_CASE("an implied cap lies between what is reserved and what the next segment would have needed") {
    auto q = full_card();
    q.device_call = DeviceCall::kNoneMade;
    q.reserved_bytes = q.active_bytes = 50 * kGiB;
    q.device_free_bytes = q.segment_request_bytes;
    CHECK(qualified(q, "cap"));
    CHECK(decide(q).numbers->available == 50 * kGiB);
    q.device_call = DeviceCall::kUnknown;
    CHECK(qualified(q, "cap_or_driver_refused"));
    q.device_free_bytes = *q.device_free_bytes - 1;
    CHECK_FALSE(qualified(q, "cap"));
}

TEST_CASE("unnamed outside bytes are removable beyond the allowance") {
    auto q = full_card();
    q.reserved_bytes = q.active_bytes = 98 * kGiB;
    q.device_free_bytes = 0;
    q.total_bytes = 98 * kGiB + kOutsideAllowanceBytes;
    CHECK(decide(q).numbers->removable == 0);
    q.total_bytes = *q.total_bytes + 1;
    CHECK(decide(q).numbers->removable == 1);
    q.others_bytes.reset();
    CHECK(decide(q).numbers->removable == 1);
    CHECK(decide(q).numbers->removable_upper == kOutsideAllowanceBytes + 1);
}

TEST_CASE("half of the relief names the holder as in the process or as transient") {
    auto q = full_card();
    q.reserved_bytes = q.active_bytes = 90 * kGiB;
    q.device_free_bytes = 0;
    q.others_bytes = 2 * kGiB;
    q.named_bytes = q.named_growth_bytes = 2 * kGiB;
    CHECK(qualified(q, kExternal, "in_process") ==
          (2 * q.named_growth_bytes >= decide(q).numbers->removable));
    Int relief = decide(q).numbers->removable;
    q.earlier_outside_bytes = 10 * kGiB - (relief + 1) / 2;
    CHECK(qualified(q, kExternal, "transient"));
    q.earlier_outside_bytes = *q.earlier_outside_bytes + 1;
    CHECK_FALSE(qualified(q, kExternal, "transient"));
}
