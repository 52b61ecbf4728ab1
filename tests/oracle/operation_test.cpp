// SPDX-License-Identifier: Apache-2.0
//
// What may stand between a refusal and the observation of it. Rule: one record between the two decides.
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u64 kForeignAt = kSegmentAt + 64 * kGiB;
constexpr u8 kContextDestroy = 176;

// A failure with one record between its refused call and the mem_info; the object was born before by `call`.
bool free_observed(u8 call, u8 freeing_call, u8 kind = kFree, u8 flags = 0) {
    RingBuilder ring;
    ring.put(576, 1, 8);  // a loss, so that the live table may stay empty
    u64 birth = ring.record({.kind = kOk, .address = kForeignAt, .size = kMiB, .call = call, .library = 3});
    u64 refused =
        ring.record({.kind = kFail, .flags = kFromAllocator, .size = 8 * kMiB, .call = 1, .code = 2});
    ring.record({.kind = kind,
                 .flags = flags,
                 .address = kForeignAt,
                 .size = kMiB,
                 .link = birth,
                 .call = freeing_call,
                 .library = 3});
    u64 seen = ring.record({.kind = kMemInfo, .size = kGiB, .link = kMiB, .call = 53});
    ring.record({.kind = kOperation,
                 .address = 8 * kMiB,
                 .size = 8 * kMiB,
                 .link = refused,
                 .extra = seen,
                 .extra16 = 1,
                 .call = 1,
                 .code = 2});
    ring.record(ring.report(kBlockOom, 0, 8 * kMiB, 9));
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["evidence"]["failure"]["free_observed_at_failure"] == Json(true);
}

}  // namespace

TEST_CASE("device memory given back after the refusal spoils the observation, host memory does not") {
    CHECK_FALSE(free_observed(1, 32));
    CHECK(free_observed(9, 34));
}

TEST_CASE("what a context's end gives back is what the birth ticket names") {
    CHECK_FALSE(free_observed(1, kContextDestroy));
    CHECK(free_observed(9, kContextDestroy));
}

TEST_CASE("a mapping after the refusal spoils the observation, a captured free does not") {
    CHECK_FALSE(free_observed(108, kCallMemMap, kOk));
    CHECK(free_observed(11, 33, kFree, kCapturing));
    CHECK_FALSE(free_observed(11, 33));
}

TEST_CASE("the observation that the operation names counts before the window as well") {
    RingBuilder ring(64);
    ring.put(576, 1, 8);
    for (int i = 0; i < 100; ++i)
        ring.record({.kind = kMark, .device = -1});
    u64 refused = ring.record({.kind = kFail, .flags = kFromAllocator, .size = kMiB, .call = 1, .code = 2});
    u64 seen = ring.record({.kind = kMemInfo, .size = kGiB, .link = 3 * kMiB, .call = 53});
    u64 operation = ring.record({.kind = kOperation,
                                 .address = kMiB,
                                 .size = kMiB,
                                 .link = refused,
                                 .extra = seen,
                                 .extra16 = 1,
                                 .call = 1,
                                 .code = 2});
    ring.record(ring.report(kBlockOom, 0, kMiB, 9));
    // The window begins 4 tickets after the oldest of 64 records: with the operation.
    while (ring.head() < operation + 60)
        ring.record({.kind = kMark, .device = -1});
    auto result = examine(ring.bytes());
    REQUIRE(result);
    REQUIRE(result->document["capture"]["first_ticket"] == Json(operation));
    const auto& evidence = result->document["evidence"];
    CHECK(evidence["failure"]["free_observed_at_failure"] == Json(true));
    CHECK(evidence["ledgers"]["device_free_bytes"] == Json(Int{3 * kMiB}));
}
