// SPDX-License-Identifier: Apache-2.0
//
// What Python's cyclic garbage collector freed. Rule: one ticket, thread or family beside the collection, and
// the free does not count.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u16 kCollection = 5;
constexpr Int kOne = Int{kMiB};

}  // namespace

TEST_CASE("a free on a thread with a collection open happens in it") {
    Job job;
    for (u64 i = 0; i < 6; ++i)
        job.alloc(10 * i, i + 1, i + 1);
    job.free(0);
    u64 collection = job.begin(1, kCollection);
    job.free(10);
    job.free(20, 2);
    job.end(collection);
    job.free(30);
    u64 range = job.begin(1, 3);
    job.free(40);
    job.end(range);
    auto collections = job.evidence()["collections"];
    CHECK(number(collections, "pass_count") == 1);
    CHECK(number(collections, "freed_bytes") == 2 * kOne);
    CHECK(number(collections, "freed_block_count") == 1);
    CHECK(column(collections, "rows", "bytes") == Column{2 * kOne});
}

TEST_CASE("a collection that has not ended frees, and is no pass") {
    Job job;
    job.alloc(1, 3);
    u64 outer = job.begin(1, kCollection);
    u64 inner = job.begin(1, kCollection);
    job.end(inner);
    job.free(1);
    job.end(inner);
    auto collections = job.evidence()["collections"];
    CHECK(number(collections, "pass_count") == 1);
    CHECK(number(collections, "freed_bytes") == 3 * kOne);
    CHECK(outer < inner);
}

TEST_CASE("blocks of another device are freed in a collection of another device") {
    Job job;
    job.begin(1, kCollection);
    auto other = [&](u8 kind, u64 link) {
        return job.ring.record({.kind = kind,
                                .flags = kTotalsPresent,
                                .address = 2 * kSegmentAt,
                                .size = kMiB,
                                .link = link,
                                .allocated = kind == kBlockAlloc ? kMiB : 0,
                                .reserved = 2 * kMiB,
                                .device = 1});
    };
    other(kBlockFree, other(kBlockAlloc, 3));
    CHECK(number(job.evidence()["collections"], "freed_block_count") == 0);
}

TEST_CASE("sites are listed by what was freed, of equal ones the one first freed") {
    Job job;
    job.alloc(1, 1, 1);
    job.alloc(2, 1, 2);
    job.alloc(3, 1, 3);
    job.alloc(4, 1, 3);
    job.begin(1, kCollection);
    job.free(2);
    job.free(1);
    job.free(4);
    job.free(3);
    auto collections = job.evidence()["collections"];
    CHECK(column(collections, "rows", "bytes") == Column{2 * kOne, kOne, kOne});
    CHECK(column(collections, "rows", "block_count") == Column{2, 1, 1});
    // Nothing is live, so the peak numbers them: 3 has most bytes, then 1 is older than 2.
    CHECK(column(collections, "rows", "site") == Column{1, 3, 2});
}

TEST_CASE("whether collection is off is what the last step says") {
    Job untold, on, off;
    off.step();
    off.step(1);
    on.step(1);
    on.step(2);
    CHECK(untold.evidence()["collections"]["switched_off"].is_null());
    CHECK(off.evidence()["collections"]["switched_off"] == Json(true));
    CHECK(on.evidence()["collections"]["switched_off"] == Json(false));
}
