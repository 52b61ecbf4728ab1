// SPDX-License-Identifier: Apache-2.0
//
// Points and survivors. Rule: rings with step boundaries whose closing tickets are known; one boundary, pair
// or step more or less decides.
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

// `steps` steps; in each of those named by `leaking`, one block of 2 MiB of site 5 stays. Active grows by
// what stays.
RingBuilder leak(std::size_t steps, const std::vector<std::size_t>& leaking) {
    RingBuilder ring(256);
    u64 segment = ring.segment(kSegmentAt, 400 * kMiB);
    ring.entry(0, kDevice, kSegmentAt, 400 * kMiB, segment);
    u64 opened = segment, active = 0, slot = 1;
    for (std::size_t step = 0; step < steps; ++step) {
        u64 work = ring.alloc(kSegmentAt + 200 * kMiB, 2 * kMiB, 7);
        if (std::find(leaking.begin(), leaking.end(), step) != leaking.end()) {
            u64 at = kSegmentAt + active;
            active += 2 * kMiB;
            ring.entry(slot++, kBlock, at, 2 * kMiB, ring.alloc(at, 2 * kMiB, 5));
        }
        ring.free(kSegmentAt + 200 * kMiB, 2 * kMiB, work);
        u64 closed = ring.record({.kind = kStep, .size = step + 1});
        ring.boundary(step, 1, closed, opened, active);
        opened = closed;
    }
    ring.oom(500 * kMiB, kGiB, 24 * kMiB);
    return ring;
}

Json growth_of(const RingBuilder& ring) {
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["evidence"]["growth"];
}
Int number(const Json& json, std::string_view name) {
    REQUIRE(json[name].number() != nullptr);
    return *json[name].number();
}

}  // namespace

TEST_CASE("six boundaries are marked, five are too few") {
    CHECK(*growth_of(leak(6, {}))["basis"].text() == "marked");
    CHECK(*growth_of(leak(5, {}))["basis"].text() == "too_few");
    CHECK(*growth_of(leak(5, {}))["family"].text() == "step");
}

TEST_CASE("a site that leaves something in three steps retains, one of two does not") {
    // Boundaries b1..b8 end steps 0..7; a survivor of step j was born in (b_j, b_j+1], which is step j here.
    auto three = growth_of(leak(8, {0, 1, 2, 4, 5, 6, 7}));
    CHECK(number(three, "growing_pairs_count") == 4);
    CHECK(number(three, "retained_bytes") == 4 * 2 * Int{kMiB});
    auto two = growth_of(leak(8, {2, 3, 7}));
    CHECK(number(two, "retained_bytes") == 0);
}

TEST_CASE("three growing pairs of five are not enough") {
    CHECK(number(growth_of(leak(8, {2, 3, 4, 5, 6})), "retained_bytes") == 5 * 2 * Int{kMiB});
    CHECK(number(growth_of(leak(8, {1, 2, 3, 4, 5})), "growing_pairs_count") == 3);
    CHECK(number(growth_of(leak(8, {1, 2, 3, 4, 5})), "retained_bytes") == 0);
}

TEST_CASE("a leak in every second step grows in pairs two steps apart, from 21 boundaries on") {
    std::vector<std::size_t> even{2, 4, 6, 8, 10, 12, 14, 16, 18, 20};
    auto spaced = growth_of(leak(21, even));
    CHECK(number(spaced, "growing_pairs_count") == 5);
    CHECK(number(spaced, "retained_bytes") == 9 * 2 * Int{kMiB});
    even.pop_back();
    auto consecutive = growth_of(leak(20, even));
    CHECK(number(consecutive, "growing_pairs_count") == 2);
    CHECK(number(consecutive, "retained_bytes") == 0);
}

TEST_CASE("pairs are an eighth of the boundaries apart, and consecutive ones count where more of them grow") {
    // With 25 boundaries three apart: 9-12, 12-15, 15-18, 18-21, 21-24 counted from 0.
    CHECK(number(growth_of(leak(25, {10, 13, 16, 19})), "growing_pairs_count") == 4);
    CHECK(number(growth_of(leak(25, {10, 13, 16, 17})), "growing_pairs_count") == 3);
    CHECK(number(growth_of(leak(24, {10, 13, 16, 19})), "growing_pairs_count") == 2);
    CHECK(number(growth_of(leak(25, {20, 21, 22, 23})), "growing_pairs_count") == 4);
}

TEST_CASE("with too few boundaries what was born since the first is an upper bound") {
    auto growth = growth_of(leak(5, {0, 1, 2}));
    CHECK(number(growth, "retained_bytes") == 2 * 2 * Int{kMiB});
    CHECK(growth["retained_is_bound"] == Json(true));
}
