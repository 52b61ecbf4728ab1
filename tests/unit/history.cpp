// SPDX-License-Identifier: Apache-2.0
//
// What led to a failure: peak, lifetimes, reconciliation and notes; and what stands for names.
#include "history.h"
#include "digest.h"
#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

const History& history_of(const Recording& recording) {
    REQUIRE(recording.analysis.incident);
    return recording.analysis.incident->history;
}

}  // namespace

TEST_CASE("the peak is the first ticket with the most live bytes, and the most that was reported reserved") {
    const Recording recording(R"(memsnap-events 1
segment s1 100MiB
alloc a s1+0 10MiB
alloc b s1+10MiB 20MiB as=peak
free b
alloc c s1+10MiB 20MiB
failing 300MiB total=1GiB free=20MiB
)");
    const Peak& peak = history_of(recording).peak;
    CHECK(peak.active_bytes == 30 * kMiB);
    CHECK(peak.active_ticket == 3);
    CHECK(peak.reserved_bytes == 100 * kMiB);
    CHECK(peak.reserved_ticket == 2);
}

TEST_CASE("what was live at the window's begin is a peak at its ticket, and no birth") {
    const Recording recording(R"(memsnap-events 1
header ring_records=64
live segment s0 40MiB
live alloc a s0+0 30MiB
free a
alloc b s0+0 10MiB
failing 300MiB total=1GiB free=20MiB
)");
    const History& history = history_of(recording);
    CHECK(history.peak.active_bytes == 30 * kMiB);
    CHECK(history.peak.active_ticket == recording.capture->window.events.begin_ticket());
    CHECK(history.lifetimes.born_count == 1);
    CHECK(history.lifetimes.freed_count == 0);
    CHECK_FALSE(history.lifetimes.longest_ticks);
    CHECK(history.lifetimes.total_ticks == 0);
}

TEST_CASE("lifetimes are tickets from birth to free, over what was freed by the failure") {
    const Recording recording(R"(memsnap-events 1
segment s1 100MiB
alloc a s1+0 10MiB
alloc b s1+10MiB 20MiB
free b
free a
alloc c s1+0 1MiB
failing 300MiB total=1GiB free=20MiB
)");
    const Lifetimes& lifetimes = history_of(recording).lifetimes;
    CHECK(lifetimes.born_count == 3);
    CHECK(lifetimes.freed_count == 2);
    CHECK(lifetimes.longest_ticks == 3);
    CHECK(lifetimes.total_ticks == 4);
}

TEST_CASE(
    "observations that agree with what was recorded show no mismatch, and a neighbour's rise shows one") {
    const auto job = [](std::string_view free_after) {
        return Recording(
            "memsnap-events 1\n"
            "library_entry 2 role=program\n"
            "segment s1 100MiB\n"
            "alloc a s1+0 10MiB\n"
            "mem_info total=1GiB free=900MiB\n"
            "segment s2 50MiB\n"
            "call nccl cudaMalloc 30MiB library=2\n"
            "failing 930MiB total=1GiB free=" +
            std::string(free_after) + "\n");
    };
    const Recording agreeing = job("820MiB");
    CHECK(history_of(agreeing).reconciliation.observation_count == 2);
    CHECK(history_of(agreeing).reconciliation.mismatch_count == 0);
    CHECK(history_of(agreeing).reconciliation.largest_difference_bytes == 0);
    const Recording risen = job("810MiB");
    CHECK(history_of(risen).reconciliation.mismatch_count == 1);
    CHECK(history_of(risen).reconciliation.largest_difference_bytes == Wide{10 * kMiB});
}

TEST_CASE(
    "answers are compared as intervals: a pool keeps what it was given, and small allocations are rounded "
    "up") {
    const auto differing = [](std::string_view free_MiB) {
        const Recording recording(
            "memsnap-events 1\nsegment s1 100MiB\nalloc a s1+0 10MiB\n"
            "call as cudaMallocAsync 30MiB library=2\n"
            "mem_info total=1GiB free=800MiB\n"  // r = 94, c = 0
            "free as\ncall buf cudaMalloc 512 library=2\n"
            "failing 900MiB total=1GiB free=" +
            std::string(free_MiB) + "\n");
        return *history_of(recording).reconciliation.largest_difference_bytes;
    };
    // r = 924 MiB - free - 512 bytes, g = 2 MiB - 512 bytes, c = 30 MiB: 94 MiB must lie in [r - g - c, r].
    CHECK(differing("830MiB-512") == 0);
    CHECK(differing("798MiB") == 0);
    CHECK(differing("830MiB") == 512);
    CHECK(differing("797MiB") == Wide{kMiB});
}

TEST_CASE("what was given back and never seen to come is no mismatch, up to the allocator's next report") {
    // 200 MiB of before go: the card has them at once, the allocator's reports have them from the next one
    // on.
    const auto job = [](std::string_view freed, std::string_view later) {
        return Recording(
            "memsnap-events 1\nheader start_mode=late\nlibrary_entry 2 role=program\n"
            "totals reserved=200MiB\nsegment s1 100MiB\nalloc a s1+0 10MiB\n"
            "mem_info total=1GiB free=700MiB\n" +
            std::string(freed) + "mem_info total=1GiB free=900MiB\n" + std::string(later) +
            "failing 930MiB total=1GiB free=900MiB\n");
    };
    const auto told = [](const Recording& recording) {
        const Reconciliation& it = history_of(recording).reconciliation;
        CHECK(it.observation_count >= 3);
        return std::pair(it.mismatch_count, it.largest_difference_bytes);
    };
    using Told = std::pair<uint64_t, std::optional<Wide>>;
    const std::string_view seen = "call n cudaMalloc 2MiB library=2\nfree n\n";
    const std::string_view unknown = "record free address=0x1000 link=none op=cudaFree from_torch\n";
    const std::string_view report = "alloc b s1+10MiB 10MiB reserved=100MiB\n";
    CHECK(told(job(seen, "")) == Told{1, 200 * kMiB});
    CHECK(told(job("record free address=0x1000 link=none op=cudaFreeHost\n", "")) == Told{1, 200 * kMiB});
    CHECK(told(job(unknown, "")) == Told{0, std::nullopt});
    // The first answer after the report begins anew, the next is compared with it.
    CHECK(told(job(unknown, report)) == Told{0, std::nullopt});
    CHECK(told(job(unknown, std::string(report) + "mem_info total=1GiB free=900MiB\n")) == Told{0, 0});
    CHECK(told(job(unknown, std::string(report) + "mem_info total=1GiB free=890MiB\n")) ==
          Told{1, 10 * kMiB});
}

TEST_CASE("after a late start no answer is compared before the allocator's first report") {
    const auto mismatch_count = [](std::string_view header) {
        const Recording recording("memsnap-events 1\n" + std::string(header) +
                                  "mem_info total=1GiB free=700MiB\ntotals reserved=200MiB\n"
                                  "segment s1 100MiB\nalloc a s1+0 10MiB\n"
                                  "mem_info total=1GiB free=600MiB\nfailing 930MiB total=1GiB free=600MiB\n");
        return history_of(recording).reconciliation.mismatch_count;
    };
    CHECK(mismatch_count("") == 1);
    CHECK(mismatch_count("header start_mode=late\n") == 0);
}

TEST_CASE("a single observation is compared with nothing") {
    const Recording recording(R"(memsnap-events 1
segment s1 100MiB
alloc a s1+0 10MiB
failing 300MiB total=1GiB free=20MiB
)");
    CHECK(history_of(recording).reconciliation.observation_count == 1);
    CHECK_FALSE(history_of(recording).reconciliation.largest_difference_bytes);
}

TEST_CASE("of each dimension the last note before the failure counts, in the order of the first notes") {
    const Recording recording(R"(memsnap-events 1
segment s1 100MiB
alloc a s1+0 10MiB
note batch 16
note length -5
note batch 32
failing 300MiB total=1GiB free=20MiB
note batch 64
)");
    REQUIRE(recording.analysis.notes.size() == 2);
    CHECK(recording.analysis.notes[0].value == 32);
    CHECK(recording.analysis.notes[1].value == -5);
}

TEST_CASE("sites count by the extents first, then by the blocks outside every segment") {
    const Recording recording(R"(memsnap-events 1
segment s1 100MiB at=0x7f0000000000
alloc a s1+0 10MiB site=5
alloc stray 0x7e0000000000 1MiB site=6 reserved=100MiB
failing 300MiB total=1GiB free=20MiB
)");
    const Scene& scene = recording.analysis.incident->scene;
    REQUIRE(scene.sites.size() == 2);
    CHECK(scene.sites[0].key.site == 5);
    CHECK(scene.sites[0].ordinal == 1);
    CHECK(scene.sites[1].key.site == 6);
    CHECK(scene.sites[1].ordinal == 2);
}

TEST_CASE("a token is keyed with the recording's id and tells kinds and ids apart") {
    const std::array<uint8_t, 16> ring = {1, 2, 3};
    const std::array<uint8_t, 16> other = {1, 2, 4};
    // BLAKE2b-128 of "site", a zero byte and 7 in eight bytes, by another implementation.
    CHECK(token("site", 7, ring) == "site-43ce35e04f1fe550");
    CHECK(token("site", 7, ring) != token("site", 7, other));
    CHECK(token("site", 7, ring) != token("site", 8, ring));
    CHECK(token("phase", 7, ring).substr(6) != token("site", 7, ring).substr(5));
}

TEST_CASE("a counter is converted exactly, where a floating number would not be") {
    const auto converted = [](std::string_view anchors, uint64_t counter) {
        const Recording recording("memsnap-events 1\nheader clock_source=x86_tsc\n" + std::string(anchors) +
                                  "segment s1 2MiB\n");
        return recording.capture->realtime_ns(counter);
    };
    const std::string slow =
        "anchor counter=0 monotonic_ns=0 realtime_ns=1700000000000000001\n"
        "anchor counter=9007199254740993 monotonic_ns=1 realtime_ns=1709007199254740994\n";
    CHECK(converted(slow, 9007199254740993) == 1709007199254740994);
    CHECK(converted(slow, 9007199254740992) == 1709007199254740993);
    const std::string set_back =
        "anchor counter=100 monotonic_ns=0 realtime_ns=1000\n"
        "anchor counter=103 monotonic_ns=1 realtime_ns=990\n";
    CHECK(converted(set_back, 101) == 997);  // 1000 - 10/3, towards 0
    CHECK(converted(set_back, 99) == 1003);
    const std::string steep =
        "anchor counter=100 monotonic_ns=0 realtime_ns=1000\n"
        "anchor counter=101 monotonic_ns=1 realtime_ns=9000\n";
    CHECK_FALSE(converted(steep, 0));  // before time began
    CHECK_FALSE(converted(steep, UINT64_MAX));
}
