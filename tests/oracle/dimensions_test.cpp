// SPDX-License-Identifier: Apache-2.0
//
// Peaks beside noted dimensions. Rule: an interval counts with a value and a peak, and only consecutive ones
// that count are compared.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

// A step that reaches `mib` and ends.
void work(Job& job, u64 mib) {
    job.alloc(100, mib);
    job.free(100);
    job.step();
}

Json effect(Job& job) {
    auto rows = list(job.evidence(), "dimension_effects");
    REQUIRE(rows.size() == 1);
    return rows[0];
}

}  // namespace

TEST_CASE("a change is together with the peak when both go the same way") {
    Job job;
    job.step();
    for (auto [value, mib] : {std::pair(4, 10), std::pair(8, 20), std::pair(2, 5), std::pair(2, 7),
                              std::pair(-3, 9), std::pair(1, 9)}) {
        job.note(7, value);
        work(job, static_cast<u64>(mib));
    }
    auto found = effect(job);
    CHECK(number(found, "interval_count") == 6);
    CHECK(number(found, "changed_count") == 4);
    CHECK(number(found, "together_count") == 2);
    CHECK(number(found, "least_value") == -3);
    CHECK(number(found, "greatest_value") == 8);
    CHECK(number(found, "peak_bytes") == 20 * Int{kMiB});
    CHECK(number(found, "value_at_peak") == 8);
}

TEST_CASE("intervals before the first note or without a report are left out") {
    Job job;
    job.step();
    work(job, 50);
    job.note(7, 1);
    work(job, 10);
    job.note(7, 2);
    job.step();
    job.note(7, 3);
    work(job, 20);
    auto found = effect(job);
    CHECK(number(found, "interval_count") == 2);
    CHECK(number(found, "changed_count") == 1);
    CHECK(number(found, "together_count") == 1);
    CHECK(number(found, "greatest_value") == 3);
    CHECK(number(found, "peak_bytes") == 20 * Int{kMiB});
}

TEST_CASE("a value holds until another one is noted, and the last one in an interval counts") {
    Job job;
    job.note(7, 1);
    work(job, 90);
    work(job, 10);
    work(job, 30);
    job.note(7, 5);
    job.note(7, 6);
    work(job, 30);
    auto found = effect(job);
    CHECK(number(found, "interval_count") == 3);
    CHECK(number(found, "changed_count") == 1);
    CHECK(number(found, "together_count") == 0);
    CHECK(number(found, "value_at_peak") == 1);
    CHECK(number(found, "greatest_value") == 6);
}

TEST_CASE("one interval is not enough") {
    Job job;
    job.step();
    job.note(7, 1);
    work(job, 10);
    CHECK(list(job.evidence(), "dimension_effects").empty());
}

TEST_CASE("an interval that begins before the window does not count") {
    for (Int works : {2, 3}) {
        Job job(64);
        job.step();
        for (int i = 0; i < 100; ++i)
            job.ring.record({.kind = kMark, .device = -1});
        job.note(7, 1);
        for (Int i = 0; i < works; ++i)
            work(job, 10);
        CHECK(list(job.evidence(), "dimension_effects").size() == (works == 2 ? 0 : 1));
    }
}

TEST_CASE("dimensions have the ordinals of the environment, which go by the first note") {
    Job job;
    job.note(9, 1);
    job.note(3, 1);
    job.step();
    work(job, 10);
    work(job, 10);
    auto document = job.failed();
    CHECK(column(document["evidence"], "dimension_effects", "dimension") == Column{1, 2});
    CHECK(column(document["environment"], "dimensions", "dimension") == Column{1, 2});
}

TEST_CASE("ranges count at depth 0 of every thread and name, whatever was noted") {
    Job job;
    job.note(7, 1);
    u64 index = 0;
    for (u64 i = 0; i < 8; ++i) {
        u64 range = job.begin(static_cast<u16>(i % 2 + 1));
        job.alloc(100, 1);
        job.free(100);
        u64 inner = job.end(job.begin(5));
        job.ring.boundary(index++, 3, inner, range, 0, 5, 0, 1);
        u64 closed = job.end(range);
        job.ring.boundary(index++, 3, closed, range, 0, static_cast<u16>(i % 2 + 1), static_cast<u32>(i));
    }
    CHECK(*job.evidence()["growth"]["family"].text() == "range");
    CHECK(number(list(job.document()["evidence"], "dimension_effects")[0], "interval_count") == 7);
}
