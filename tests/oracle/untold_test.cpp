// SPDX-License-Identifier: Apache-2.0
//
// After a late start: what an observation tells before PyTorch's allocator has reported, and which blocks
// nobody saw. Rule: each case is looked at as recorded from birth too, where the answer is another one.
#include "catch.h"
#include "oracle/job_levels.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u64 kSamplesAt = 1152 / 64;  // in the pinned area

RingBuilder started(bool late) {
    RingBuilder ring;
    ring.put(312, late ? 1 : 0, 4);
    ring.put(576, 1, 8);  // a loss, so that the live table may stay empty
    return ring;
}
Fields untold(u64 device_free, u8 kind = kMemInfo) {
    return {.kind = kind, .size = kGiB, .link = device_free, .call = kind == kMemInfo ? u8{53} : u8{0}};
}
// One with the totals that the ring has by now.
Fields told(const RingBuilder& ring, u64 device_free) {
    auto observation = ring.report(kMemInfo, 0, kGiB, device_free);
    observation.call = 53;
    return observation;
}
// A block of 4 MiB in a segment of 20 MiB, with totals of the allocator that may say more.
void report(RingBuilder& ring, u64 allocated, u64 reserved) {
    ring.segment(kSegmentAt, 20 * kMiB);
    auto block = ring.report(kBlockAlloc, kSegmentAt, 4 * kMiB, 1);
    block.allocated = allocated;
    block.reserved = reserved;
    ring.record(block);
}

Json evidence_of(const RingBuilder& ring) {
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["evidence"];
}
std::vector<Json> holders_of(const RingBuilder& ring) {
    auto evidence = evidence_of(ring);
    return *evidence["holders"].array();
}
Json peak_of(const RingBuilder& ring) {
    return holders_of(ring).at(0);
}
Int number(const Json& json, std::string_view name) {
    REQUIRE(json[name].number() != nullptr);
    return *json[name].number();
}

}  // namespace

TEST_CASE("blocks that nobody saw are active, as many bytes as the last report says") {
    auto ring = started(true);
    report(ring, 14 * kMiB, 40 * kMiB);
    for (const auto& balance : holders_of(ring)) {
        CHECK(number(balance, "active_bytes") == 14 * Int{kMiB});
        CHECK(number(balance, "reusable_free_bytes") == 16 * Int{kMiB});
        CHECK(number(balance, "fragmented_free_bytes") == 10 * Int{kMiB});
    }
    auto less_than_seen = started(true);
    report(less_than_seen, kMiB, 40 * kMiB);
    CHECK(number(peak_of(less_than_seen), "active_bytes") == 4 * Int{kMiB});
    auto from_birth = started(false);
    report(from_birth, 14 * kMiB, 40 * kMiB);
    CHECK(number(peak_of(from_birth), "active_bytes") == 4 * Int{kMiB});
}

TEST_CASE("an untold observation is no anchor, neither carried nor carried back") {
    auto ring = started(true);
    ring.record(untold(984 * kMiB));
    report(ring, 4 * kMiB, 20 * kMiB);
    CHECK(*peak_of(ring)["source"].text() == "unknown");
    CHECK(peak_of(ring)["free_bytes"].is_null());
    auto later = ring;
    later.record(untold(924 * kMiB));
    CHECK(*peak_of(later)["source"].text() == "unknown");
    auto seen = told(ring, 954 * kMiB);
    seen.reserved = 20 * kMiB;
    ring.record(seen);
    auto peak = peak_of(ring);
    CHECK(*peak["source"].text() == "carried_back");
    CHECK(number(peak, "unattributed_bytes") == 50 * Int{kMiB});
    CHECK(number(peak, "free_bytes") == 954 * Int{kMiB});
    ring.put(312, 0, 4);
    CHECK(*peak_of(ring)["source"].text() == "carried");
}

TEST_CASE("an untold observation is counted, but compared with none, before a report and after it") {
    auto reconciliation_of = [](bool late) {
        auto ring = started(late);
        ring.record(untold(900 * kMiB));
        ring.record(untold(800 * kMiB));
        ring.alloc(kSegmentAt, kMiB);
        ring.record(told(ring, 700 * kMiB));
        ring.record(untold(500 * kMiB));
        ring.record(told(ring, 699 * kMiB));
        ring.record(ring.report(kBlockOom, 0, 2 * kGiB, 9));
        return evidence_of(ring)["reconciliation"];
    };
    CHECK(number(reconciliation_of(true), "observation_count") == 5);
    CHECK(number(reconciliation_of(true), "mismatch_count") == 1);
    CHECK(number(reconciliation_of(true), "largest_difference_bytes") == Int{kMiB});
    CHECK(number(reconciliation_of(false), "mismatch_count") == 4);
}

TEST_CASE("what the failing operation saw is its free, also untold") {
    auto ring = started(true);
    ring.oom(500 * kMiB, kGiB, 400 * kMiB);
    CHECK(number(evidence_of(ring)["ledgers"], "device_free_bytes") == 400 * Int{kMiB});
    CHECK(number(holders_of(ring).at(1), "free_bytes") == 400 * Int{kMiB});
}

TEST_CASE("untold samples and an untold peak are not in the lane of what is outside") {
    auto outside_of = [](bool late) {
        auto ring = started(late);
        ring.pinned(8, untold(300 * kMiB), 0);
        ring.pinned(kSamplesAt, untold(400 * kMiB, kDeviceSample), 0);
        ring.record(untold(400 * kMiB, kDeviceSample));
        ring.alloc(kSegmentAt, kMiB);
        auto sample = ring.report(kDeviceSample, 0, kGiB, 900 * kMiB);
        ring.pinned(kSamplesAt + 1, sample, ring.record(sample));
        auto shapes = evidence_of(ring)["shapes"];
        return (*shapes.array()).at(0)["outside"];
    };
    CHECK(number(outside_of(true), "point_count") == 1);
    CHECK(number(outside_of(true), "max_bytes") == 124 * Int{kMiB});
    CHECK(number(outside_of(false), "point_count") == 2);
    CHECK(number(outside_of(false), "max_bytes") == 724 * Int{kMiB});
}

TEST_CASE(
    "of a process of a job an untold observation tells what of the card is used, but not what is outside") {
    for (bool late : {true, false}) {
        auto ring = started(late);
        ring.record(untold(700 * kMiB));
        ring.record(ring.report(kBlockOom, 0, 2 * kGiB, 9));
        ring.pinned(8, untold(700 * kMiB), 0);
        auto account = account_of(ring.bytes(), {});
        auto file = decode(ring.bytes(), std::nullopt);
        REQUIRE(account);
        REQUIRE(file);
        REQUIRE(account->fall);
        account->fall->time_ns = 0;
        auto outside = late ? std::nullopt : std::optional(324 * Int{kMiB});
        auto levels = levels_at_failure(*file, *account);
        CHECK(levels.bytes[kOutside] == outside);
        CHECK(levels.bytes[kDeviceUsed] == 324 * Int{kMiB});
        CHECK(account->peaks[kOutside] == outside);
        CHECK(account->peaks[kDeviceUsed] == 324 * Int{kMiB});
    }
}
