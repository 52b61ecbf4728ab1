// SPDX-License-Identifier: Apache-2.0
//
// Blocks, totals, steps and phases of births, and what the torch tap adds.
#include <cstring>

#include "catch.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

uint64_t tap(RingWriter& ring, wire::Kind kind, uint64_t address, uint64_t size_bytes, uint64_t stream = 0,
             uint16_t pool = 0) {
    wire::Record record = {};
    record.kind = kind;
    record.address = address;
    record.size = size_bytes;
    std::memcpy(record.tail, &stream, 8);
    std::memcpy(record.tail + 8, &pool, 2);
    return ring.record(record);
}

}  // namespace

TEST_CASE("totals are the allocator's own and the ledger's, per device") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB, 0);
    ring.segment(kBase + 100 * kMiB, 20 * kMiB, 1);
    ring.block_alloc(kBase, 4 * kMiB, 0);
    ring.block_alloc(kBase + 100 * kMiB, 6 * kMiB, 1);
    const uint64_t last = ring.block_alloc(kBase + 4 * kMiB, 2 * kMiB, 0);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->devices() == std::vector<int>{0, 1});
    const DeviceTotals& first = result.ledger->device(0);
    CHECK(first.allocated_bytes == 6 * kMiB);
    CHECK(first.block_count == 2);
    CHECK(first.segment_bytes == 20 * kMiB);
    CHECK(first.reported_allocated_bytes == 6 * kMiB);
    CHECK(first.reported_reserved_bytes == 20 * kMiB);
    CHECK(first.report_ticket == last);
    CHECK(first.unseen_reserved_bytes == 0);
    CHECK(result.ledger->device(1).allocated_bytes == 6 * kMiB);
}

TEST_CASE("a block carries the step and the innermost phase of its birth") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.step(1);
    ring.phase(wire::Kind::phase_begin, 10, 11, wire::Family::range);
    const uint64_t inner = ring.phase(wire::Kind::phase_begin, 20, 21, wire::Family::range);
    ring.block_alloc(kBase, kMiB);
    ring.phase(wire::Kind::phase_end, 20, 21, wire::Family::range, inner);
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.thread = 2;
    ring.block_alloc(kBase + 2 * kMiB, kMiB);
    ring.step(2);
    ring.block_alloc(kBase + 3 * kMiB, kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const auto block = [&](uint64_t i) { return *result.ledger->find_block(kBase + i * kMiB); };
    CHECK(block(0).phase == 21);
    CHECK(block(1).phase == 11);
    CHECK(block(2).phase == 11);  // on a thread without ranges, beside one thread with one open
    CHECK(block(0).step == 1);
    CHECK(block(3).step == 2);
    CHECK(block(3).thread == 2);
}

TEST_CASE("bytes that the allocator reports and no tap saw are unseen, not corruption") {
    RingWriter ring;
    ring.header().start_mode = wire::StartMode::late;
    ring.block_alloc(kBase, 3 * kMiB);
    ring.block_alloc(kBase + 4 * kMiB, kMiB);
    for (const uint64_t ticket : {0, 1}) {
        ring.at(ticket).tail[1] += 0x20;  // 4 MiB more in 512 byte units
        ring.at(ticket).tail[6] += 0x40;
        RingWriter::seal(ring.at(ticket));
    }
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->device(0).unseen_allocated_bytes == static_cast<int64_t>(4 * kMiB));
    CHECK(result.ledger->device(0).unseen_reserved_bytes == static_cast<int64_t>(8 * kMiB));
    CHECK(result.tolerated(Rule::totals_allocated) == 1);  // once, not at every report
}

TEST_CASE("a category is kept with its block") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    wire::Record record = {};
    record.kind = wire::Kind::category;
    record.address = kBase;
    record.code = static_cast<uint16_t>(wire::Category::gradient);
    ring.record(record);
    CHECK(replayed(ring).ledger->find_block(kBase)->category == Category::gradient);
}

TEST_CASE("the torch tap tells what was requested of the next block at its address, and of no other") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    tap(ring, wire::Kind::tap_alloc, kBase, 7);
    tap(ring, wire::Kind::tap_alloc, kBase + 4 * kMiB, 3 * kMiB);  // of a block that comes later
    tap(ring, wire::Kind::tap_alloc, kBase, kMiB - 100);
    ring.block_alloc(kBase, kMiB);
    ring.block_alloc(kBase + kMiB, kMiB);
    tap(ring, wire::Kind::tap_alloc, kBase + kMiB, kMiB - 200);  // that block is there already
    ring.block_alloc(kBase + 4 * kMiB, 4 * kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const Block& first = *result.ledger->find_block(kBase);
    CHECK((first.told && first.requested_bytes == kMiB - 100));
    CHECK(!result.ledger->find_block(kBase + kMiB)->told);
    const Block& later = *result.ledger->find_block(kBase + 4 * kMiB);
    CHECK((later.told && later.requested_bytes == 3 * kMiB));
    CHECK(result.ledger->tap_seen());
}

TEST_CASE("a block born in between takes what was told of its address") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    tap(ring, wire::Kind::tap_alloc, kBase, kMiB - 100);
    ring.block_alloc(kBase, 512);
    ring.block_free(kBase);
    ring.block_alloc(kBase, kMiB);
    CHECK(!replayed(ring).ledger->find_block(kBase)->told);
}

TEST_CASE("a free that the allocator completes later is deferred until then") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.block_alloc(kBase + kMiB, 2 * kMiB);
    tap(ring, wire::Kind::tap_free_requested, kBase, kMiB);
    tap(ring, wire::Kind::tap_free_completed, kBase, kMiB);
    ring.block_free(kBase);
    CHECK(replayed(ring).ledger->device(0).deferred_bytes == 0);
    tap(ring, wire::Kind::tap_free_requested, kBase + kMiB, 2 * kMiB);
    ring.block_free(kBase + kMiB);
    const Replayed waiting = replayed(ring);
    CHECK(waiting.ledger->device(0).deferred_bytes == 2 * kMiB);
    CHECK(waiting.ledger->deferred().size() == 1);
    tap(ring, wire::Kind::tap_free_completed, kBase + kMiB, 2 * kMiB);
    const Replayed done = replayed(ring);
    CHECK(done.ledger->device(0).deferred_bytes == 0);
    CHECK(done.ledger->deferred().empty());
}

TEST_CASE("a visitor sees each state right after its event, with what changed") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.site = 9;
    const uint64_t born = ring.block_alloc(kBase, kMiB);
    const uint64_t freed = ring.block_free(kBase);
    const auto capture = read(ring);
    REQUIRE(capture);
    Ledger ledger(capture->window);
    const auto outcome =
        replay(*capture, capture->window, ledger,
               [&](const Event& event, const Ledger& state, const Change& change) {
                   CHECK((change.born != nullptr) == (event.ticket == born));
                   CHECK(change.freed.has_value() == (event.ticket == freed));
                   if (event.ticket == born) CHECK(state.device(0).allocated_bytes == kMiB);
                   if (event.ticket == freed)
                       CHECK((change.freed->site == 9 && change.freed->birth_ticket == born));
               });
    CHECK(outcome);
}

TEST_CASE("blocks of a late start are live, their births unknown") {
    RingWriter ring;
    ring.header().start_mode = wire::StartMode::late;
    wire::Record record = {};
    record.kind = wire::Kind::initial_segment;
    record.address = kBase;
    record.size = 20 * kMiB;
    ring.record(record);
    record.kind = wire::Kind::initial;
    record.size = 4 * kMiB;
    ring.record(record);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->find_block(kBase)->site == 0);
    CHECK(result.ledger->device(0).segment_bytes == 20 * kMiB);
}
