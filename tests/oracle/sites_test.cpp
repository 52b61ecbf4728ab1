// SPDX-License-Identifier: Apache-2.0
//
// Sites at the peak, right before the failure, between points, and those that leave something behind. Rule:
// one step, row or ticket more or less decides.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr Int kOne = Int{kMiB};

// One block of 1 MiB of site 5 stays in each of the named steps; step 0 is before the first boundary.
Json survivors_of(const std::vector<int>& leaving, int steps = 9) {
    Job job;
    u64 place = 100;
    for (int step = 0; step < steps; ++step) {
        if (std::find(leaving.begin(), leaving.end(), step) != leaving.end()) job.alloc(place++, 1, 5);
        job.step();
    }
    return job.evidence()["growth"];
}

Json rows_of_peak(const Json& evidence) {
    return list(evidence, "peak_sites").front();
}

}  // namespace

TEST_CASE(
    "a site that leaves something in three judged steps is a survivor site, whether active grows or not") {
    // k = 9: the judged steps are 2 to 7, which are 2 to 7 here as well.
    auto growth = survivors_of({2, 3, 4});
    auto rows = list(growth, "survivors");
    REQUIRE(rows.size() == 1);
    CHECK(number(growth, "growing_pairs_count") < 4);
    CHECK(number(growth, "retained_bytes") == 0);
    CHECK(number(rows[0], "bytes") == 3 * kOne);
    CHECK(number(rows[0], "block_count") == 3);
    CHECK(number(rows[0], "step_count") == 3);
    CHECK(number(rows[0], "clean_step_count") == 3);
    CHECK(number(rows[0], "bytes_per_step") == kOne);
    CHECK(number(rows[0], "oldest_step") == 2);
    CHECK(number(rows[0], "least_block_bytes") == kOne);
    CHECK(number(rows[0], "greatest_block_bytes") == kOne);
    CHECK(list(survivors_of({2, 3}), "survivors").empty());
    CHECK(list(survivors_of({0, 1, 2, 3, 8}), "survivors").empty());
    CHECK(list(survivors_of({2, 3, 7}), "survivors").size() == 1);
}

TEST_CASE("a survivor site tells what else of it is live, and its bytes per step are rounded down") {
    Job job;
    job.alloc(50, 7, 5);
    job.steps(2);
    job.alloc(100, 1, 5);
    u64 second_of_step = job.alloc(101, 3, 5);
    job.step();
    job.alloc(110, 1, 5);
    job.step();
    job.alloc(120, 2, 5);
    job.steps(5);
    auto rows = list(job.evidence()["growth"], "survivors");
    REQUIRE(rows.size() == 1);
    CHECK(number(rows[0], "bytes") == 7 * kOne);
    CHECK(number(rows[0], "bytes_per_step") == 7 * kOne / 3);
    CHECK(number(rows[0], "step_count") == 3);
    CHECK(number(rows[0], "block_count") == 4);
    CHECK(number(rows[0], "live_bytes") == 14 * kOne);
    CHECK(number(rows[0], "least_block_bytes") == kOne);
    CHECK(number(rows[0], "greatest_block_bytes") == 3 * kOne);
    CHECK(number(rows[0], "oldest_ticket") == Int{second_of_step - 1});
}

TEST_CASE("six boundaries judge three steps, five none") {
    auto rows = list(survivors_of({2, 3, 4}, 6), "survivors");
    REQUIRE(rows.size() == 1);
    CHECK(number(rows[0], "clean_step_count") == 0);
    CHECK(*survivors_of({2, 3, 4}, 5)["basis"].text() == "too_few");
    CHECK(list(survivors_of({2, 3, 4}, 5), "survivors").empty());
}

TEST_CASE("the peak's sites are those live after the event that reached it") {
    Job job;
    job.begin(3);
    job.alloc(1, 4, 1);
    job.alloc(10, 2, 2);
    u64 peak = job.alloc(20, 8, 2);
    job.free(10);
    job.alloc(30, 1, 3);
    auto evidence = job.evidence();
    auto at_peak = rows_of_peak(evidence);
    CHECK(number(at_peak, "ticket") == Int{peak});
    CHECK(number(at_peak, "bytes") == 14 * kOne);
    CHECK(number(at_peak, "site_count") == 2);
    CHECK(column(at_peak, "rows", "bytes") == Column{10 * kOne, 4 * kOne});
    CHECK(column(at_peak, "rows", "block_count") == Column{2, 1});
    CHECK(column(at_peak, "rows", "phase") == Column{1, 1});
    CHECK(list(evidence, "peak_sites").size() == 1);
}

TEST_CASE("of two peak sites with as many bytes the one with the older live block comes first") {
    Job job;
    job.alloc(1, 1, 9);
    job.alloc(2, 1, 8);
    job.alloc(3, 1, 9);
    job.free(1);
    job.alloc(5, 1, 9);
    job.alloc(4, 1, 8);
    job.alloc(6, 1, 7);
    // Site 8 has the oldest block left; 9 and 8 have 2 MiB each.
    auto document = job.failed();
    auto rows = rows_of_peak(document["evidence"]);
    CHECK(column(rows, "rows", "bytes") == Column{2 * kOne, 2 * kOne, kOne});
    // Ordinals by address: the block at 2 is of site 8.
    CHECK(column(rows, "rows", "site") == Column{1, 2, 3});
}

TEST_CASE("a site has the phase of its largest block, of two equal ones the first by address") {
    for (bool other_is_larger : {false, true}) {
        Job job;
        u64 range = job.begin(1);
        job.alloc(20, 2);
        job.end(range);
        job.alloc(10, other_is_larger ? 3 : 2);
        range = job.begin(2);
        job.alloc(30, 2);
        job.end(range);
        CHECK(column(job.evidence(), "sites", "phase") == Column{0});
    }
    Job job;
    u64 range = job.begin(7);
    job.alloc(10, 2);
    job.end(range);
    job.alloc(20, 2);
    auto evidence = job.evidence();
    CHECK(column(evidence, "sites", "phase") == Column{1});
    CHECK(column(rows_of_peak(evidence), "rows", "phase") == Column{1});
}

TEST_CASE("64 sites are listed at the peak and the others counted") {
    for (u64 sites : {u64{64}, u64{65}}) {
        Job job;
        for (u64 site = 1; site <= sites; ++site)
            job.ring.alloc(Job::at(site), kMiB, site);
        job.ring.put(576, 1, 8);  // more than the table holds
        auto rows = rows_of_peak(job.evidence());
        CHECK(number(rows, "site_count") == Int{sites});
        CHECK(list(rows, "rows").size() == 64);
        CHECK(number(rows, "bytes") == Int{sites} * kOne);
    }
}

TEST_CASE("without a failure every device that has a shape has its peak's sites") {
    Job job;
    job.alloc(1, 4, 1);
    job.free(1);
    job.ring.record({.kind = kBlockAlloc,
                     .flags = kTotalsPresent,
                     .address = 2 * kSegmentAt,
                     .size = kMiB,
                     .link = 2,
                     .allocated = kMiB,
                     .reserved = 2 * kMiB,
                     .device = 1});
    job.ring.put(576, 1, 8);
    auto evidence = job.document()["evidence"];
    CHECK(column(evidence, "peak_sites", "device") == Column{0, 1});
    CHECK(column(evidence, "peak_sites", "bytes") == Column{4 * kOne, kOne});
    CHECK(evidence["recent"].is_null());
    CHECK(evidence["categories"].is_null());
    CHECK(evidence["site_growth"].is_null());
    CHECK(evidence["collections"].is_null());
    CHECK(evidence["dimension_effects"].is_null());
}

TEST_CASE("the last sixteen allocations are recent, with their threads in the order of the list") {
    Job job;
    for (u64 i = 0; i < 17; ++i)
        job.alloc(i, 1, i + 1, static_cast<u16>(i < 9 ? 30 : 4));
    job.free(5);
    auto evidence = job.evidence();
    auto recent = list(evidence, "recent");
    REQUIRE(recent.size() == 16);
    CHECK(number(recent.front(), "ticket") == 2);
    CHECK(number(recent.back(), "ticket") == 17);
    CHECK(number(recent.front(), "thread") == 1);
    CHECK(number(recent.back(), "thread") == 2);
    CHECK(recent[4]["live"] == Json(false));
    CHECK(recent[5]["live"] == Json(true));
    // The site of what was freed is numbered after those that are live.
    CHECK(number(recent[4], "site") == 17);
}

TEST_CASE("growth between points is that from the first to the last one in the window") {
    Job job;
    job.alloc(1, 8, 1);
    job.alloc(20, 3, 2);
    job.alloc(30, 5, 3);
    u64 first = job.step();
    job.free(1);
    job.alloc(40, 2, 2);
    job.alloc(50, 2, 4);
    job.steps(4);
    u64 last = job.step();
    job.alloc(60, 9, 5);
    auto grown = job.evidence()["site_growth"];
    CHECK(number(grown, "from_ticket") == Int{first});
    CHECK(number(grown, "to_ticket") == Int{last});
    CHECK(number(grown, "pair_count") == 5);
    CHECK(column(grown, "rows", "from_bytes") == Column{8 * kOne, 3 * kOne, 0});
    CHECK(column(grown, "rows", "to_bytes") == Column{0, 5 * kOne, 2 * kOne});
}

TEST_CASE("of equal differences growing ones come first, then the site with the older block") {
    Job job;
    job.alloc(1, 2, 1);
    job.alloc(10, 1, 2);
    job.alloc(20, 1, 3);
    job.step();
    job.free(1);
    job.alloc(30, 2, 4);
    job.alloc(40, 2, 3);
    job.alloc(50, 2, 2);
    job.steps(5);
    auto grown = job.evidence()["site_growth"];
    CHECK(column(grown, "rows", "from_bytes") == Column{kOne, kOne, 0, 2 * kOne});
    CHECK(column(grown, "rows", "site") == Column{1, 2, 3, 4});
}

TEST_CASE("without six marked boundaries there is no growth between points") {
    Job five, six;
    five.steps(5);
    six.steps(6);
    CHECK(five.evidence()["site_growth"].is_null());
    CHECK(list(six.evidence()["site_growth"], "rows").empty());
}

TEST_CASE("points before the window are not compared") {
    Job job(64);
    u64 first = job.step();
    for (int i = 0; i < 100; ++i)
        job.ring.record({.kind = kMark, .device = -1});
    u64 second = job.step();
    job.steps(5);
    auto grown = job.evidence()["site_growth"];
    CHECK(first < second);
    CHECK(number(grown, "from_ticket") == Int{second});
    CHECK(number(grown, "pair_count") == 5);
}
