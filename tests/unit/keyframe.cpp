// SPDX-License-Identifier: Apache-2.0
//
// A failure keyframe alone tells the state that the ring tells.
#include <cstddef>
#include <fstream>

#include "catch.h"
#include "check.h"
#include "extent.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr uint32_t kKeyframeRecords = 32;

// Many births and deaths, then a failure with its keyframe.
RingWriter failing_ring(uint32_t ring_records, uint64_t& failure) {
    RingWriterOptions options;
    options.ring_records = ring_records;
    options.keyframe_ring_records = kKeyframeRecords;
    RingWriter ring(options);
    ring.segment(kBase, 100 * kMiB);
    ring.segment(kBase + 200 * kMiB, 20 * kMiB);
    for (uint64_t i = 0; i < 90; ++i)
        ring.block_alloc(kBase + i * kMiB, kMiB);
    for (uint64_t i = 0; i < 90; i += 3)
        ring.block_free(kBase + i * kMiB);
    const uint64_t failed = ring.call_failed(wire::Op::cudaMalloc, 64 * kMiB, 2, true);
    const uint64_t observed = ring.mem_info(256 * kMiB, 10 * kMiB);
    ring.pin(ring.pinned(0).last_observation[0], observed);
    failure = ring.block_oom(64 * kMiB);
    ring.keyframe(0, failure, {failed - 1, failed, observed});
    return ring;
}

std::string state_of(const Ledger& ledger) {
    std::string text;
    for (const Extent& row : extent_table(ledger, 0)) {
        text += std::to_string(row.segment_ordinal) + ":" + std::to_string(row.offset_bytes) + "+" +
                std::to_string(row.size_bytes) + (row.live ? "L" + std::to_string(row.birth_ticket) : "F") +
                " ";
    }
    return text;
}

Ledger replay_keyframe(const Capture& capture, const Keyframe& keyframe) {
    Ledger ledger(keyframe.window);
    const auto outcome =
        replay(capture, keyframe.window, ledger, [](const Event&, const Ledger&, const Change&) {});
    REQUIRE(outcome);
    for (const uint64_t count : outcome->tolerated)
        CHECK(count == 0);
    return ledger;
}

}  // namespace

TEST_CASE("a keyframe's state at the failure is the ring's state there") {
    uint64_t failure = 0;
    RingWriter ring = failing_ring(1024, failure);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    REQUIRE(result.capture->keyframes.size() == 1);
    CHECK(result.capture->keyframes[0].failure.ticket == failure);
    const auto keyframe = result.capture->read_keyframe(0);
    REQUIRE(keyframe);
    const Ledger at_failure = replay_keyframe(*result.capture, **keyframe);
    CHECK(state_of(at_failure) == state_of(*result.ledger));
    CHECK(at_failure.device(0).reported_reserved_bytes == result.ledger->device(0).reported_reserved_bytes);
    CHECK((*keyframe)->window.events.end_ticket() == failure + 1);
    CHECK((*keyframe)->window.events.begin_ticket() == failure + 1 - kKeyframeRecords);
    REQUIRE((*keyframe)->operation.size() == 3);
    CHECK((*keyframe)->operation[1].kind == Kind::fail);
    CHECK((*keyframe)->pinned[0].last_observation->device_free_bytes() == 10 * kMiB);
}

TEST_CASE("a keyframe outlives the ring's laps") {
    uint64_t failure = 0;
    RingWriter fresh = failing_ring(1024, failure);
    const std::string expected = state_of(*replayed(fresh).ledger);
    RingWriter ring = failing_ring(64, failure);
    for (uint64_t i = 1; i <= 500; ++i)
        ring.step(i);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(!result.capture->window.events.accepted(failure));
    const auto keyframe = result.capture->read_keyframe(0);
    REQUIRE(keyframe);
    CHECK(state_of(replay_keyframe(*result.capture, **keyframe)) == expected);
}

TEST_CASE("a keyframe that was being written is not there, one that points outside its slot is refused") {
    uint64_t failure = 0;
    RingWriter ring = failing_ring(1024, failure);
    const uint64_t slot = ring.header().areas[static_cast<size_t>(wire::AreaId::keyframes)].offset_bytes;
    const Folder folder;
    const auto altered = [&](auto member, auto value) {
        ring.write(folder.file("ring.bin"));
        std::fstream file(folder.file("ring.bin"), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(slot + member));
        file.write(reinterpret_cast<const char*>(&value), sizeof value);
        file.close();
        return Capture::read(folder.file("ring.bin"));
    };
    CHECK(altered(offsetof(wire::Keyframe, end), uint64_t{1})->keyframes.empty());
    CHECK(altered(offsetof(wire::Keyframe, begin), uint64_t{0})->keyframes.empty());
    for (const size_t member :
         {offsetof(wire::Keyframe, operation_offset_bytes), offsetof(wire::Keyframe, operation_count),
          offsetof(wire::Keyframe, pinned_offset_bytes), offsetof(wire::Keyframe, ring_offset_bytes),
          offsetof(wire::Keyframe, ring_count), offsetof(wire::Keyframe, table_offset_bytes),
          offsetof(wire::Keyframe, entry_count)}) {
        const auto capture = altered(member, ~uint32_t{0} - 7);
        REQUIRE(capture);
        const auto keyframe = capture->read_keyframe(0);
        INFO("member at " << member);
        REQUIRE(!keyframe);
        CHECK(keyframe.error().rule == "keyframe");
        CHECK(keyframe.error().offset_bytes == slot);
        CHECK(!check(*capture));
    }
}

TEST_CASE("entries that found no room in a keyframe are declared") {
    RingWriterOptions options;
    options.keyframe_entries = 10;
    options.keyframe_ring_records = 16;
    RingWriter ring(options);
    ring.segment(kBase, 100 * kMiB);
    for (uint64_t i = 0; i < 50; ++i)
        ring.block_alloc(kBase + i * kMiB, kMiB);
    ring.keyframe(0, ring.block_oom(64 * kMiB));
    const auto capture = read(ring);
    REQUIRE(capture);
    CHECK(capture->keyframes.at(0).entries_dropped > 0);
    const auto keyframe = capture->read_keyframe(0);
    REQUIRE(keyframe);
    CHECK((*keyframe)->window.facts.is_uncertain(Uncertainty::table_incomplete));
    CHECK(check(*capture));
}
