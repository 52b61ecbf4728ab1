// SPDX-License-Identifier: Apache-2.0
//
// Requested against granted bytes. Rule: a block is told by the last word about its address before its birth,
// or not at all.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

struct Asked {
    Job job;

    void ask(u64 mib, u64 bytes, int device = 0) {
        job.ring.record({.kind = kTapAlloc, .address = Job::at(mib), .size = bytes, .device = device});
    }
    Json at_failure(std::optional<u64> told = std::nullopt) {
        job.ring.record(
            {.kind = kTapOom, .address = told.value_or(~u64{0}), .size = 900 * kMiB, .link = ~u64{0}});
        Options last;  // of a chain
        last.choice.ticket = job.ring.record(job.ring.report(kBlockOom, 0, 900 * kMiB, 9));
        auto result = examine(job.ring.bytes(), last);
        REQUIRE(result);
        return only(result->document);
    }
    static Json only(const Json& document) {
        const auto& rows = list(document["evidence"], "requests");
        REQUIRE(rows.size() == 1);
        return rows[0];
    }
};

}  // namespace

TEST_CASE("without the tap nothing is said of requests") {
    Job job;
    job.alloc(0, 2);
    CHECK(list(job.evidence(), "requests").empty());
}

TEST_CASE("rounding and what was kept add up to the grant") {
    Asked asked;
    asked.ask(0, 2 * kMiB - 600);
    asked.job.alloc(0, 2);
    asked.ask(4, 0);
    asked.job.alloc(4, 1);
    auto row = asked.at_failure();
    CHECK(number(row, "told_block_count") == 2);
    CHECK(number(row, "granted_bytes") == Int{3 * kMiB});
    CHECK(number(row, "told_granted_bytes") == Int{3 * kMiB});
    CHECK(number(row, "told_requested_bytes") == Int{2 * kMiB - 600});
    CHECK(number(row, "requested_bytes") == Int{2 * kMiB - 600});
    CHECK(number(row, "told_rounding_bytes") == 88 + 512);
    CHECK(number(row, "told_kept_bytes") == 512 + Int{kMiB} - 512);
}

TEST_CASE("one block without a request leaves the sum unknown") {
    Asked asked;
    asked.ask(0, kMiB);
    asked.job.alloc(0, 1);
    CHECK(number(asked.at_failure(), "requested_bytes") == Int{kMiB});
    asked.job.alloc(4, 1);
    auto row = asked.at_failure();
    CHECK(row["requested_bytes"].is_null());
    CHECK(number(row, "told_block_count") == 1);
    CHECK(number(row, "granted_bytes") == Int{2 * kMiB});
}

TEST_CASE("what the failure's tap_oom tells of all blocks counts before the sum, at the failure alone") {
    Asked asked;
    asked.ask(0, kMiB);
    asked.job.alloc(0, 1);
    CHECK(number(asked.at_failure(7), "requested_bytes") == 7);
}

TEST_CASE("a request is the last one before the birth, and none behind another birth of the address") {
    Asked asked;
    asked.ask(0, 3 * kMiB);
    asked.ask(0, kMiB - 1);
    asked.job.alloc(0, 1);
    CHECK(number(asked.at_failure(), "requested_bytes") == Int{kMiB - 1});
    asked.job.free(0);
    asked.job.alloc(0, 1);
    CHECK(number(asked.at_failure(), "told_block_count") == 0);
    asked.job.free(0);
    asked.ask(0, 5, 1);
    asked.job.alloc(0, 1);
    CHECK(number(asked.at_failure(), "told_block_count") == 0);
}

TEST_CASE("a request behind the birth tells nothing of the block") {
    Asked asked;
    asked.job.alloc(0, 1);
    asked.ask(0, 5);
    CHECK(number(asked.at_failure(), "told_block_count") == 0);
}

TEST_CASE("without an incident requests are those of the window's end") {
    Asked asked;
    asked.ask(0, kMiB - 1);
    asked.job.alloc(0, 1);
    u64 last = asked.job.ring.record({.kind = kMark, .device = -1});
    auto row = Asked::only(asked.job.document());
    CHECK(number(row, "ticket") == Int{last});
    CHECK(number(row, "requested_bytes") == Int{kMiB - 1});
}

TEST_CASE("with no live block every live block is told") {
    Asked asked;
    asked.ask(0, 5);
    asked.job.alloc(0, 1);
    asked.job.free(0);
    CHECK(number(asked.at_failure(), "requested_bytes") == 0);
}

TEST_CASE("a block that was live before the first event can be told as well") {
    RingBuilder ring;
    ring.put(312, 1, 4);
    ring.record({.kind = kInitialSegment, .flags = kFromAllocator, .address = kSegmentAt, .size = kGiB});
    ring.record({.kind = kTapAlloc, .address = kSegmentAt, .size = 1000});
    ring.record({.kind = kInitial, .address = kSegmentAt, .size = 1024});
    auto result = examine(ring.bytes());
    REQUIRE(result);
    auto row = Asked::only(result->document);
    CHECK(number(row, "requested_bytes") == 1000);
    CHECK(number(row, "told_rounding_bytes") == 24);
    CHECK(number(row, "told_kept_bytes") == 0);
}
