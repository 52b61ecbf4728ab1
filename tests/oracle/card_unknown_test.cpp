// SPDX-License-Identifier: Apache-2.0
//
// The decision where nobody told the card's size. Rule: only what holds for every card is decided, on both
// sides of each bound.
#include "catch.h"
#include "oracle/decide.h"
#include "oracle/thresholds.h"

using namespace oracle;
using namespace oracle::thresholds;

namespace {

constexpr Int kGiB = 1024 * kMiB;
constexpr Int kGreatestThreshold = kLargestCardBytes * 15 / 1000;

// 80 GiB of PyTorch's and free memory, all of PyTorch's in use.
Question full_card() {
    Question q;
    q.request_bytes = 2 * kGiB;
    q.segment_request_bytes = 2 * kGiB;
    q.device_free_bytes = kGiB;
    q.reserved_bytes = 79 * kGiB;
    q.active_bytes = 79 * kGiB;
    q.device_call = DeviceCall::kFailed;
    q.deferred_known = true;
    q.basis = Basis::kMarked;
    return q;
}
Question with_margin(Int margin) {
    auto q = full_card();
    q.active_bytes = *q.device_free_bytes + q.reserved_bytes - *q.request_bytes - margin;
    q.fragmented_bytes = q.slack_bytes();
    return q;
}
Standing standing(const Question& q, Hypothesis hypothesis) {
    return decide(q).opinions[hypothesis].standing;
}

}  // namespace

TEST_CASE("without total and device-free there are no numbers, with either there are") {
    auto q = full_card();
    CHECK(decide(q).numbers);
    q.device_free_bytes.reset();
    CHECK_FALSE(decide(q).numbers);
    q.total_bytes = 80 * kGiB;
    CHECK(decide(q).numbers);
}

TEST_CASE("fragmentation is primary on every card only from the largest card's threshold on") {
    CHECK(decide(with_margin(kGreatestThreshold)).primary() == kFragmentation);
    CHECK(standing(with_margin(kGreatestThreshold), kLiveSet) == Standing::kRejected);
    CHECK_FALSE(decide(with_margin(kGreatestThreshold - 1)).primary());
    CHECK(standing(with_margin(kGreatestThreshold - 1), kFragmentation) == Standing::kUndecidable);
}

TEST_CASE("a full card of unknown size is live-set or external, and no fragmentation") {
    auto decision = decide(full_card());
    CHECK_FALSE(decision.primary());
    CHECK(decision.opinions[kLiveSet].standing == Standing::kUndecidable);
    CHECK(decision.opinions[kExternal].standing == Standing::kUndecidable);
    CHECK(decision.opinions[kFragmentation].standing == Standing::kRejected);
    CHECK(decision.opinions[kRetention].standing == Standing::kRejected);
}

TEST_CASE("the printed numbers are those of the smallest card, and nothing lies outside on it") {
    auto numbers = decide(full_card()).numbers;
    REQUIRE(numbers);
    CHECK(numbers->threshold == 80 * kGiB * 15 / 1000);
    CHECK(numbers->margin == -kGiB);
    CHECK(numbers->removable_upper == 0);
    CHECK_FALSE(decide(full_card()).opinions[kExternal].qualifiers.contains("holder_unknown"));
}

TEST_CASE("the live set is not rejected where a card between the smallest and the largest makes it primary") {
    // On the smallest card the margin suffices for fragmentation, on the largest others hold enough.
    auto q = with_margin(80 * kGiB * 15 / 1000);
    CHECK(standing(q, kLiveSet) == Standing::kUndecidable);
    q.total_bytes = 81 * kGiB;
    CHECK(standing(q, kLiveSet) == Standing::kPrimary);
}

TEST_CASE("what was retained is not rejected where the threshold of some card lies just above the margin") {
    auto q = with_margin(kGreatestThreshold / 2);
    q.retained_bytes = 1;
    CHECK(standing(q, kRetention) == Standing::kUndecidable);
    q.retained_bytes = 0;
    CHECK(standing(q, kRetention) == Standing::kRejected);
}

TEST_CASE("others that are known and named libraries move the last card without growth of others") {
    // Retained bytes just make up the deficit of a card on which everything outside is accounted for.
    auto q = full_card();
    q.others_bytes = 10 * kGiB;
    q.named_bytes = 4 * kGiB;
    Int card = 80 * kGiB + 14 * kGiB + kOutsideAllowanceBytes;
    q.total_bytes = card;
    auto numbers = decide(q).numbers;
    REQUIRE(numbers);
    CHECK(numbers->removable == 10 * kGiB);
    q.total_bytes = card + 1;
    CHECK(decide(q).numbers->removable == 10 * kGiB + 1);
}

TEST_CASE("a cap that binds leaves the card's size without a say") {
    auto q = full_card();
    q.cap_bytes = 79 * kGiB;
    CHECK(decide(q).primary() == kLiveSet);
    CHECK(standing(q, kExternal) == Standing::kRejected);
}

TEST_CASE("more than the largest card in use is a card of its own size") {
    auto q = full_card();
    q.reserved_bytes = q.active_bytes = kLargestCardBytes;
    CHECK(decide(q).primary() == kLiveSet);
    CHECK(decide(q).margins[kLiveSet]->low == decide(q).margins[kLiveSet]->high);
    q.reserved_bytes = q.active_bytes = kLargestCardBytes - *q.device_free_bytes - 20 * kGiB;
    CHECK_FALSE(decide(q).primary());
}

TEST_CASE("an answer stands on every card, a request beyond the smallest one does not") {
    auto q = full_card();
    q.largest_compatible_bytes = *q.request_bytes;
    q.hole_release = HoleRelease::kSeparate;
    CHECK(decide(q).answers.contains("fit_ignored"));
    q.request_bytes = q.largest_compatible_bytes = 80 * kGiB + 1;
    CHECK(decide(q).answers.empty());
    CHECK_FALSE(decide(q).qualifiers.contains("larger_than_card"));
    q.request_bytes = q.largest_compatible_bytes = kLargestCardBytes + 1;
    CHECK(decide(q).qualifiers.contains("larger_than_card"));
}

TEST_CASE("a stated total below what PyTorch and the device tell contradicts itself, its equal does not") {
    auto q = full_card();
    q.total_bytes = 80 * kGiB;
    CHECK(decide(q).primary() == kLiveSet);
    q.total_bytes = 80 * kGiB - 1;
    CHECK(decide(q).qualifiers.contains("inconsistent_numbers"));
    CHECK_FALSE(decide(q).numbers);
    q.uncertainty_bytes = 1;
    CHECK(decide(q).primary() == kLiveSet);
}
