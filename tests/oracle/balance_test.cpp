// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card. Rule: every split is worked out by hand, and the parts are added up again from the
// document.
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u64 kForeignAt = kSegmentAt + 64 * kGiB;

u64 observe(RingBuilder& ring, u64 device_free) {
    return ring.record({.kind = kMemInfo, .size = kGiB, .link = device_free, .call = 53});
}
u64 others(RingBuilder& ring, u64 bytes, u16 count = 1) {
    return ring.record({.kind = kProcessSample, .link = bytes, .code = count});
}
u64 foreign(RingBuilder& ring, u64 address, u64 size) {
    return ring.record({.kind = kOk, .address = address, .size = size, .call = 1, .library = 3});
}
u64 made(RingBuilder& ring, u8 call, u64 address, u64 size, u8 flags = 0) {
    return ring.record(
        {.kind = kOk, .flags = flags, .address = address, .size = size, .call = call, .library = 3});
}

Json document_of(const RingBuilder& ring) {
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document;
}
Int number(const Json& json, std::string_view name) {
    REQUIRE(json[name].number() != nullptr);
    return *json[name].number();
}

// The balances of a ring, each of which must add up.
std::vector<Json> holders_of(const RingBuilder& ring) {
    auto list = *document_of(ring)["evidence"]["holders"].array();
    for (const auto& balance : list) {
        if (balance["total_bytes"].is_null()) continue;
        Int sum = 0;
        for (const char* part : {"active_bytes", "reusable_free_bytes", "fragmented_free_bytes",
                                 "incompatible_free_bytes", "unattributed_bytes", "free_bytes"})
            sum += number(balance, part);
        if (!balance["others_bytes"].is_null()) sum += number(balance, "others_bytes");
        for (const auto& library : *balance["libraries"].array())
            sum += number(library, "bytes");
        CHECK(sum == number(balance, "total_bytes"));
    }
    return list;
}

// A segment of 20 MiB with a block of 4 MiB, on a card of 1 GiB.
RingBuilder begun() {
    RingBuilder ring;
    ring.put(576, 1, 8);  // a loss, so that the live table may stay empty
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.alloc(kSegmentAt, 4 * kMiB);
    return ring;
}

}  // namespace

TEST_CASE("at the failure what nobody explains is left, by the failure's own observation") {
    auto ring = begun();
    foreign(ring, kForeignAt, 30 * kMiB);
    others(ring, 200 * kMiB, 2);
    ring.oom(500 * kMiB, kGiB, 400 * kMiB);
    auto failure = holders_of(ring).at(1);
    CHECK(*failure["instant"].text() == "failure");
    CHECK(*failure["source"].text() == "observed");
    CHECK(number(failure, "active_bytes") == 4 * Int{kMiB});
    CHECK(number(failure, "fragmented_free_bytes") == 16 * Int{kMiB});
    CHECK(number((*failure["libraries"].array())[0], "bytes") == 30 * Int{kMiB});
    CHECK(number(failure, "others_bytes") == 200 * Int{kMiB});
    CHECK(number(failure, "free_bytes") == 400 * Int{kMiB});
    CHECK(number(failure, "unattributed_bytes") == (1024 - 20 - 30 - 200 - 400) * Int{kMiB});
    CHECK(number(document_of(ring)["evidence"]["outside"], "other_process_count") == 2);
}

TEST_CASE("at the peak what the last observation left is carried, and free is what remains") {
    auto ring = begun();
    observe(ring, 900 * kMiB);  // 104 MiB of 124 are nobody's
    foreign(ring, kForeignAt, 30 * kMiB);
    u64 peak = ring.alloc(kSegmentAt + 4 * kMiB, 8 * kMiB);
    ring.free(kSegmentAt + 4 * kMiB, 8 * kMiB, peak);
    ring.oom(500 * kMiB, kGiB, 400 * kMiB);
    auto at_peak = holders_of(ring).at(0);
    CHECK(*at_peak["instant"].text() == "peak");
    CHECK(number(at_peak, "ticket") == Int{peak});
    CHECK(*at_peak["source"].text() == "carried");
    CHECK(number(at_peak, "active_bytes") == 12 * Int{kMiB});
    CHECK(number(at_peak, "unattributed_bytes") == 104 * Int{kMiB});
    CHECK(number(at_peak, "free_bytes") == 870 * Int{kMiB});
    CHECK(at_peak["others_bytes"].is_null());
}

TEST_CASE("others who came between the observation and the instant take from what is free") {
    auto ring = begun();
    others(ring, 100 * kMiB);
    observe(ring, 900 * kMiB);
    others(ring, 300 * kMiB);
    u64 peak = ring.alloc(kSegmentAt + 4 * kMiB, 8 * kMiB);
    auto at_peak = holders_of(ring).at(0);
    CHECK(number(at_peak, "ticket") == Int{peak});
    CHECK(number(at_peak, "others_bytes") == 300 * Int{kMiB});
    CHECK(number(at_peak, "unattributed_bytes") == 4 * Int{kMiB});
    CHECK(number(at_peak, "free_bytes") == 700 * Int{kMiB});
}

TEST_CASE("others who were first seen after the instant count as there, if they were seen by the end") {
    auto ring = begun();
    observe(ring, 900 * kMiB);
    others(ring, 100 * kMiB);
    for (const auto& balance : holders_of(ring)) {
        CHECK(number(balance, "others_bytes") == 100 * Int{kMiB});
        CHECK(number(balance, "unattributed_bytes") == 4 * Int{kMiB});
    }
}

TEST_CASE("an observation after the instant is carried back, one after the failure is not") {
    auto ring = begun();
    auto later = ring;
    observe(ring, 900 * kMiB);
    CHECK(*holders_of(ring).at(0)["source"].text() == "carried_back");
    CHECK(*holders_of(ring).at(1)["source"].text() == "observed");
    later.record(later.report(kBlockOom, 0, 500 * kMiB, 9));
    observe(later, 900 * kMiB);
    for (const auto& balance : holders_of(later)) {
        CHECK(*balance["source"].text() == "unknown");
        CHECK(balance["total_bytes"].is_null());
        CHECK(balance["unattributed_bytes"].is_null());
        CHECK(balance["free_bytes"].is_null());
        CHECK(number(balance, "active_bytes") == 4 * Int{kMiB});
    }
}

TEST_CASE("against a request free extents are told apart, without one all are reusable") {
    auto ring = begun();
    ring.segment(kSegmentAt + kGiB, 2 * kMiB);  // small, once a block is in it
    ring.alloc(kSegmentAt + kGiB, kMiB);
    observe(ring, 900 * kMiB);
    auto failing = ring;
    CHECK(number(holders_of(ring).at(1), "reusable_free_bytes") == 17 * Int{kMiB});
    CHECK(number(holders_of(ring).at(1), "incompatible_free_bytes") == 0);
    failing.oom(16 * kMiB, kGiB, 2 * kMiB);
    for (const auto& balance : holders_of(failing)) {
        CHECK(number(balance, "reusable_free_bytes") == 16 * Int{kMiB});
        CHECK(number(balance, "incompatible_free_bytes") == Int{kMiB});
    }
}

TEST_CASE("a peak that is the window's first state is looked at before the first event") {
    RingBuilder ring(64);
    while (ring.head() < 68)
        ring.record({.kind = kMark});
    ring.record({.kind = kBlockFree,
                 .flags = kTotalsPresent | kBirthFollows,
                 .address = kSegmentAt,
                 .size = kMiB,
                 .link = 5});
    ring.record({.kind = kBirth, .address = kSegmentAt, .size = kMiB, .link = 77, .extra = 3});
    while (ring.head() < 128)
        ring.record({.kind = kMark});
    REQUIRE(number(document_of(ring)["capture"], "first_ticket") == 68);
    auto list = holders_of(ring);
    REQUIRE(list.size() == 2);
    CHECK(number(list[0], "ticket") == 68);
    CHECK(number(list[0], "active_bytes") == Int{kMiB});
    CHECK(number(list[1], "active_bytes") == 0);
}

TEST_CASE("before the first event of a job nothing of it is there") {
    RingBuilder ring;
    foreign(ring, kForeignAt, 30 * kMiB);
    made(ring, 9, kForeignAt + kGiB, 6 * kMiB);
    ring.put(576, 1, 8);
    ring.oom(500 * kMiB, kGiB, 400 * kMiB);
    auto peak = holders_of(ring).at(0);
    CHECK(number(peak, "ticket") == 0);
    CHECK(peak["libraries"].array()->empty());
    CHECK(number(peak, "pinned_bytes") == 0);
}

TEST_CASE("managed, pinned, imported and graph memory stand beside the card") {
    auto ring = begun();
    made(ring, 7, kForeignAt, 5 * kMiB);
    made(ring, 9, kForeignAt + kGiB, 6 * kMiB);
    for (int reference = 0; reference < 2; ++reference)
        made(ring, 111, 17, 7 * kMiB, kImported);
    made(ring, 112, kForeignAt + 2 * kGiB, 8 * kMiB);
    made(ring, 122, kForeignAt + 3 * kGiB, 9 * kMiB);
    observe(ring, 900 * kMiB);
    auto end = holders_of(ring).at(1);
    CHECK(number(end, "managed_bytes") == 5 * Int{kMiB});
    CHECK(number(end, "pinned_bytes") == 6 * Int{kMiB});
    CHECK(number(end, "imported_count") == 2);
    CHECK(number(end, "imported_bytes") == 15 * Int{kMiB});
    CHECK(number(end, "graph_bytes") == 9 * Int{kMiB});
    CHECK(number(end, "unattributed_bytes") == 104 * Int{kMiB});
}

TEST_CASE("memory whose creating reference ended before the window is told by the oldest that is left") {
    constexpr u8 kRetain = 110;
    for (bool left : {true, false}) {
        RingBuilder ring(64);
        ring.put(576, 1, 8);
        u64 created = made(ring, kCallMemCreate, 0x77, 2 * kMiB);
        if (left)
            ring.entry(5, kHandle, 0x77, 2 * kMiB, made(ring, kRetain, 0x77, 2 * kMiB), 1, kNoTicket, 3);
        ring.record({.kind = kFree, .address = 0x77, .size = 2 * kMiB, .link = created, .call = 167});
        for (int i = 0; i < 100; ++i)
            ring.record({.kind = kMark, .device = -1});
        ring.oom(100 * kMiB, kGiB, 24 * kMiB);
        auto libraries = *holders_of(ring).back()["libraries"].array();
        CHECK(libraries.size() == (left ? 1 : 0));
    }
}

TEST_CASE("a failure of which nothing is left has no holders") {
    auto ring = begun();
    CHECK(holders_of(ring).size() == 2);
    ring.put(732, 1, 4);
    CHECK(holders_of(ring).empty());
}
