// SPDX-License-Identifier: Apache-2.0
//
// Files that were made in standby: where the window of the last armed time begins and ends, and what is live
// there.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "reader.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

RingWriter in_standby() {
    RingWriterOptions options;
    options.standby = true;
    options.ring_records = 32;
    RingWriter ring(options);
    ring.segment(kBase, 64 * kMiB);
    return ring;
}

std::vector<uint64_t> addresses_at_end(const Window& window) {
    std::vector<uint64_t> addresses;
    for (const LiveObject& object : window.objects) {
        if (object.live_at_end && object.object == Object::block) addresses.push_back(object.address);
    }
    return addresses;
}

}  // namespace

TEST_CASE("a file that was never armed has the state and no window") {
    RingWriter ring = in_standby();
    ring.block_alloc(kBase, kMiB);
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.block_free(kBase);
    ring.close_ring();
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const Window& window = result.capture->window;
    CHECK(window.events.begin_ticket() == ring.header().head);
    CHECK(window.events.end_ticket() == ring.header().head);
    CHECK(addresses_at_end(window) == std::vector<uint64_t>{kBase + kMiB});
    CHECK(window.facts.is_uncertain(Uncertainty::recording_dormant));
}

TEST_CASE("the window ends where it was disarmed, with the state there") {
    RingWriter ring = in_standby();
    ring.arm();
    const uint64_t first = ring.block_alloc(kBase, kMiB);
    ring.disarm();
    ring.block_free(kBase);
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.close_ring();
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const Window& window = result.capture->window;
    CHECK(window.events.begin_ticket() == first);
    CHECK(window.events.end_ticket() == first + 1);
    CHECK(addresses_at_end(window) == std::vector<uint64_t>{kBase});
    CHECK(!window.facts.is_uncertain(Uncertainty::recording_dormant));
    CHECK(window.facts.certain_until_ticket == kNoTicket);
}

TEST_CASE("a process killed between the state and the word of it has the same window") {
    RingWriter ring = in_standby();
    ring.arm();
    ring.block_alloc(kBase, kMiB);
    ring.disarm();
    ring.header().arm_state = wire::ArmState::recording;
    ring.close_ring();
    CHECK(addresses_at_end(replayed(ring).capture->window) == std::vector<uint64_t>{kBase});
}

TEST_CASE("without a whole state of where it was disarmed there is no window") {
    RingWriter ring = in_standby();
    ring.arm();
    ring.block_alloc(kBase, kMiB);
    ring.disarm();
    ring.keyframe_at(wire::kDisarmedSlot).end = 0;
    ring.close_ring();
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.facts.is_uncertain(Uncertainty::recording_dormant));
}

TEST_CASE("armed again, the window is that of the last time, and what is older carries its birth") {
    RingWriter ring = in_standby();
    ring.arm();
    ring.block_alloc(kBase, kMiB);
    ring.disarm();
    ring.site = 7;
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.site = 0;
    ring.arm();
    const uint64_t freed = ring.block_free(kBase + kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const Window& window = result.capture->window;
    CHECK(window.events.begin_ticket() == freed);
    CHECK(window.facts.missing_count == 0);
    CHECK(addresses_at_end(window) == std::vector<uint64_t>{kBase});
    const auto gone = std::ranges::find(window.objects, kBase + kMiB, &LiveObject::address);
    REQUIRE(gone != window.objects.end());
    CHECK(gone->birth_known);
    CHECK(gone->site == 7);
}

TEST_CASE("a record that a hook stored after the end costs the one whose slot it took") {
    RingWriter ring = in_standby();
    ring.arm();
    const uint64_t armed_from = ring.header().head;
    for (uint64_t i = 0; i < 16; ++i)
        ring.block_alloc(kBase + i * kMiB, kMiB);
    ring.disarm();
    const uint64_t end = ring.header().head;
    ring.close_ring();
    const uint64_t late = armed_from + 32 + 1;  // into the slot of the second record
    wire::Record record = ring.at(armed_from);
    record.seq = late + 1;
    RingWriter::seal(record);
    ring.at(late) = record;
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const Window& window = result.capture->window;
    CHECK(window.events.begin_ticket() == armed_from + 2 + 32 / wire::kWindowDivisor);
    CHECK(window.events.end_ticket() == end);
    CHECK(window.facts.missing_count == 0);
    CHECK(addresses_at_end(window).size() == 16);
}

TEST_CASE("a file that is armed between its opening and the first look at it is not called damaged") {
    RingWriter ring = in_standby();
    ring.arm();
    const std::vector<std::byte>& armed = ring.bytes();
    const Folder folder;
    const std::string path = folder.file("ring.bin");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(armed.data()), static_cast<std::streamsize>(armed.size()));
    std::filesystem::resize_file(path, armed.size() / 2);
    auto opened = RingFile::open(path);
    REQUIRE(opened);
    std::filesystem::resize_file(path, armed.size());

    CHECK(Reader(std::move(*opened)).read(false));
}
