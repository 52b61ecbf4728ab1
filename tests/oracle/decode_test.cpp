// SPDX-License-Identifier: Apache-2.0
//
// The decoder: what is accepted, missing, torn, unknown or refused. Rule: each test changes one thing in a
// sound ring.
#include "catch.h"
#include "oracle/clock.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

int exit_code_of(const RingBuilder& ring) {
    auto file = decode(ring.bytes(), std::nullopt);
    return file ? 0 : file.error().exit_code;
}
std::string rule_of(const RingBuilder& ring) {
    auto file = decode(ring.bytes(), std::nullopt);
    return file ? "" : file.error().rule;
}

}  // namespace

TEST_CASE("the checksum is Castagnoli's") {
    const char* text = "123456789";
    Bytes bytes(reinterpret_cast<const std::byte*>(text), 9);
    CHECK(crc32c(bytes) == 0xE3069283U);
    CHECK(crc32c(bytes.subspan(0, 4), bytes.subspan(4)) == 0xE3069283U);
}

TEST_CASE("a sound ring is decoded whole") {
    auto ring = small_failure();
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    CHECK(file->events.size() == ring.head());
    CHECK(file->events.back().kind == kBlockOom);
    CHECK(file->events.back().reserved_bytes == 20 * kMiB);
    CHECK(file->missing_count == 0);
    CHECK(file->table.size() == 2);
}

TEST_CASE("another file or another major version is no ring of this program") {
    auto ring = small_failure();
    ring.put(0, 0, 1);
    CHECK(exit_code_of(ring) == kExitNotMemsnap);
    auto newer = small_failure();
    newer.put(8, 2, 2);
    CHECK(exit_code_of(newer) == kExitNotMemsnap);
    auto swapped = small_failure();
    swapped.put(12, 0x04030201, 4);
    CHECK(exit_code_of(swapped) == kExitNotMemsnap);
    auto minor = small_failure();
    minor.put(10, 9, 2);
    CHECK(exit_code_of(minor) == 0);
}

TEST_CASE("a file that is shorter than it says is corrupt") {
    auto ring = small_failure();
    ring.put(24, ring.bytes().size() + 1, 8);
    CHECK(rule_of(ring) == "file_bytes");
}

TEST_CASE("areas must lie inside the file, aligned and apart") {
    auto outside = small_failure();
    outside.put(48, u64{1} << 40, 8);
    CHECK(rule_of(outside) == "area_bounds");
    auto odd = small_failure();
    odd.put(48, RingBuilder::kAlign + 64, 8);
    CHECK(rule_of(odd) == "area_bounds");
    auto many = small_failure();
    many.put(48 + 20, ~u32{0}, 4);
    CHECK(rule_of(many) == "area_entries");
    auto same = small_failure();
    same.put(48 + 24, RingBuilder::kAlign, 8);
    CHECK(rule_of(same) == "area_overlap");
}

TEST_CASE(
    "a record whose check does not fit is torn while the process may still write and corrupt after it "
    "exited") {
    auto ring = small_failure();
    ring.put(ring.record_at(2) + 32, 7, 8);
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    CHECK(file->torn_count == 1);
    CHECK(file->missing_count == 1);
    ring.exit(1);
    CHECK(rule_of(ring) == "record_check");
}

TEST_CASE("a sealed record in the slot of another is corrupt") {
    auto ring = small_failure();
    ring.put(ring.record_at(2), 9, 8);
    ring.seal(ring.record_at(2));
    CHECK(rule_of(ring) == "record_order");
}

TEST_CASE("a record of an unknown kind or call is counted apart from missing ones") {
    auto ring = small_failure();
    ring.record({.kind = 200});
    ring.record({.kind = kMark, .call = 250});
    ring.lose();
    ring.record({.kind = kMark});
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    CHECK(file->unknown_kind_count == 2);
    CHECK(file->missing_count == 1);
}

TEST_CASE("the window of a ring that went round begins a sixteenth after the oldest ticket") {
    RingBuilder ring(64);
    for (int i = 0; i < 100; ++i)
        ring.record({.kind = kMark});
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    CHECK(file->oldest == 36);
    CHECK(file->begin == 40);
    CHECK(file->earlier.size() == 4);
    CHECK(file->events.size() == 60);
}

TEST_CASE("tickets that were overwritten during the copy are not trusted") {
    RingBuilder ring(64);
    for (int i = 0; i < 64; ++i)
        ring.record({.kind = kMark});
    auto file = decode(ring.bytes(), 70);
    REQUIRE(file);
    CHECK(file->copied_while_written);
    CHECK(file->oldest == 6);
}

TEST_CASE("a record or table entry beyond the head shows a copy that was taken while the job wrote") {
    auto entry = small_failure();
    entry.entry(1, kBlock, kSegmentAt, 4 * kMiB, 1, 1, entry.head() - 1);
    auto result = decode(entry.bytes(), std::nullopt);
    REQUIRE(result);
    CHECK_FALSE(result->copied_while_written);
    entry.entry(1, kBlock, kSegmentAt, 4 * kMiB, 1, 1, entry.head());
    result = decode(entry.bytes(), std::nullopt);
    REQUIRE(result);
    CHECK(result->copied_while_written);
    auto record = small_failure();
    record.put(512, record.head() - 1, 8);
    result = decode(record.bytes(), std::nullopt);
    REQUIRE(result);
    CHECK(result->copied_while_written);
    CHECK(result->events.size() == record.head() - 1);
}

TEST_CASE("no loss excuses a wrong check of a live table entry, a copy while written does") {
    auto ring = small_failure();
    ring.put(576, 1, 8);
    ring.put(2 * RingBuilder::kAlign + 16, 7, 8);
    auto result = examine(ring.bytes());
    REQUIRE_FALSE(result);
    CHECK(result.error().rule == "table_check");
    Options moved;
    moved.head_after = ring.head() + 1;
    CHECK(examine(ring.bytes(), moved));
}

TEST_CASE("a device that the format has no room for is not known") {
    RingBuilder ring;
    for (int device : {31, 32, 127, -1, -128})
        ring.record({.kind = kMark, .device = device});
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    CHECK(file->events[0].device == 31);
    for (std::size_t i = 1; i < file->events.size(); ++i)
        CHECK(file->events[i].device == -1);
}

TEST_CASE("failures without a device are an incident without evidence, whatever device was asked for") {
    RingBuilder ring;
    auto failure = ring.report(kBlockOom, 0, kMiB, 9);
    failure.device = 40;
    ring.record(failure);
    auto result = examine(ring.bytes());
    REQUIRE(result);
    CHECK(result->exit_code == 11);
    CHECK(result->document["verdict"]["undecidable"].array()->size() == 4);
    CHECK(result->document["verdict"]["hypotheses"].is_null());
    CHECK(*result->document["evidence"]["lost_failure_count"].number() == 0);
    ring.entry(0, kDevice, kSegmentAt, 20 * kMiB, ring.segment(kSegmentAt, 20 * kMiB));
    ring.entry(1, kBlock, kSegmentAt, kMiB, ring.alloc(kSegmentAt, kMiB));
    Options asked;
    result = examine(ring.bytes(), asked);
    REQUIRE(result);
    CHECK(result->exit_code == 11);
    asked.choice.device = 0;
    result = examine(ring.bytes(), asked);
    REQUIRE(result);
    CHECK(result->exit_code == 11);
}

TEST_CASE("a failure or device that the ring does not have is a mistake of the caller") {
    auto ring = small_failure();
    auto code = [&](Choice choice) {
        Options options;
        options.choice = choice;
        auto result = examine(ring.bytes(), options);
        return result ? result->exit_code : result.error().exit_code;
    };
    CHECK(code({.device = 0, .ticket = {}}) != kExitUsage);
    CHECK(code({.device = 1, .ticket = {}}) == kExitUsage);
    CHECK(code({.device = {}, .ticket = ring.head() - 1}) != kExitUsage);
    CHECK(code({.device = {}, .ticket = 0}) == kExitUsage);
}

TEST_CASE("a counter is no time where anchors do not rise or the result is below 0") {
    File file;
    file.anchors = {{100, 1000, 50}, {200, 2000, 150}};
    CHECK(realtime_ns(file, 50) == Int{0});
    CHECK_FALSE(realtime_ns(file, 49));
    file.anchors[1].counter = 100;
    CHECK_FALSE(realtime_ns(file, 100));
    file.anchors.pop_back();
    CHECK_FALSE(realtime_ns(file, 100));
    file.header.clock_source = 1;
    CHECK(realtime_ns(file, 50) == Int{0});
    CHECK_FALSE(realtime_ns(file, 49));
}
