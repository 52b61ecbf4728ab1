// SPDX-License-Identifier: Apache-2.0
//
// Other processes and blind spots, as the records tell them. Rule: one byte, one record or one code more or
// less decides.
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

void neighbour(RingBuilder& ring, u64 bytes, u16 code, u8 flags = 0, int device = 0) {
    ring.record(
        {.kind = kNeighbour, .flags = flags, .address = 4711, .link = bytes, .device = device, .code = code});
}
void others(RingBuilder& ring, u64 bytes, u8 flags = 0) {
    ring.record({.kind = kProcessSample, .flags = flags, .link = bytes, .code = 3});
}

Json evidence_of(RingBuilder ring) {
    ring.oom(2 * kGiB, kGiB, kMiB);
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["evidence"];
}
bool shares_job(const RingBuilder& ring) {
    return evidence_of(ring)["outside"]["holder_shares_job"] == Json(true);
}
Json capture_of(const RingBuilder& ring) {
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["capture"];
}

}  // namespace

TEST_CASE("the holder is of this job when its processes have half of the others' bytes") {
    RingBuilder half, short_of_it;
    neighbour(half, 300, 1);
    neighbour(half, 200, 1);
    neighbour(half, 500, 0);
    others(half, 1000);
    CHECK(shares_job(half));
    neighbour(short_of_it, 499, 1);
    neighbour(short_of_it, 501, 0);
    others(short_of_it, 1000);
    CHECK_FALSE(shares_job(short_of_it));
}

TEST_CASE("only neighbours of the last available sample on the device count") {
    RingBuilder earlier, unavailable, elsewhere, unknown_bytes;
    neighbour(earlier, 1000, 1);
    others(earlier, 1000);
    CHECK(shares_job(earlier));
    others(earlier, 1000);
    CHECK_FALSE(shares_job(earlier));

    neighbour(unavailable, 1000, 1);
    others(unavailable, 1000);
    others(unavailable, 7, kUnavailable);
    CHECK(shares_job(unavailable));

    neighbour(elsewhere, 1000, 1, 0, 1);
    others(elsewhere, 1000);
    CHECK_FALSE(shares_job(elsewhere));

    neighbour(unknown_bytes, 1000, 1, kUnavailable);
    others(unknown_bytes, 1000);
    CHECK_FALSE(shares_job(unknown_bytes));
}

TEST_CASE("where others hold nothing nobody shares a job, and their count is that of the sample") {
    RingBuilder ring;
    CHECK(evidence_of(ring)["outside"]["other_process_count"].is_null());
    others(ring, 0);
    CHECK_FALSE(shares_job(ring));
    CHECK(evidence_of(ring)["outside"]["other_process_count"] == Json(3));
    CHECK(evidence_of(ring)["provenance"]["outside.other_process_count"].is_null());
}

TEST_CASE("blind records are counted by reason, every reason is listed") {
    RingBuilder ring;
    for (u16 code : std::array<u16, 5>{1, 4, 4, 6, 0})
        ring.record({.kind = kBlind, .code = code});
    CHECK(capture_of(ring)["blind"] == Json(Json::Object{{"deepbind", 1},
                                                         {"dlmopen", 0},
                                                         {"unknown_entry_point", 0},
                                                         {"resolver_bypassed", 2},
                                                         {"original_missing", 0}}));
}

TEST_CASE("the header says how devices were sampled and what was counted") {
    RingBuilder ring;
    CHECK(capture_of(ring)["sampling"] == Json("unknown"));
    const std::array<const char*, 6> words{"unknown",      "nvml",        "off",
                                           "nvml_missing", "nvml_failed", "unknown"};
    for (u64 word = 0; word < words.size(); ++word) {
        ring.put(752, word, 4);
        CHECK(capture_of(ring)["sampling"] == Json(words.at(word)));
    }
    ring.put(576 + 8 * 10, 5, 8);
    ring.put(576 + 8 * 13, 7, 8);
    CHECK(capture_of(ring)["unknown_free_count"] == Json(5));
    CHECK(capture_of(ring)["samples_failed_count"] == Json(7));
}

TEST_CASE("what CUPTI saw is known and means nothing to the ledgers") {
    RingBuilder ring;
    ring.record({.kind = kCuptiMemory, .address = kSegmentAt, .size = kMiB, .code = 1});
    CHECK(capture_of(ring)["unknown_kind_count"] == Json(0));
    CHECK(capture_of(ring)["missing_count"] == Json(0));
    ring.record({.kind = 84});
    CHECK(capture_of(ring)["unknown_kind_count"] == Json(1));
}

TEST_CASE("the header tells where sites come from and what was dropped") {
    RingBuilder ring;
    ring.put(576 + 8 * 3, 11, 8);
    ring.put(576 + 8 * 6, 12, 8);
    ring.put(576 + 8 * 12, 13, 8);
    ring.put(324, 0x14020401, 4);
    ring.put(352, 31207, 4);
    auto capture = capture_of(ring);
    CHECK(capture["no_stack_count"] == Json(11));
    CHECK(capture["boundaries_dropped_count"] == Json(12));
    CHECK(capture["names_dropped_count"] == Json(13));
    CHECK(capture["stacks"] ==
          Json(Json::Object{
              {"wish", "automatic"}, {"python", "threaded"}, {"native", "missing"}, {"depth_count", 20}}));
    auto result = examine(ring.bytes());
    REQUIRE(result);
    CHECK(result->document["environment"]["python_version"] == Json("3.12.7"));
}

TEST_CASE("a number that the format does not list reads as the first word") {
    RingBuilder ring;
    ring.put(324, 0x00030505, 4);
    CHECK(capture_of(ring)["stacks"] ==
          Json(Json::Object{{"wish", "off"}, {"python", "none"}, {"native", "none"}, {"depth_count", 0}}));
}
