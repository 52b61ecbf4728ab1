// SPDX-License-Identifier: Apache-2.0
//
// The state at the window's begin, births of freed blocks, and redo of what the live table lacks.
#include <deque>
#include <random>

#include "catch.h"
#include "ring_fixture.h"
#include "window_builder.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

RingWriterOptions small() {
    RingWriterOptions options;
    options.ring_records = 256;
    return options;
}

const LiveObject* object_born_at(const Window& window, uint64_t ticket) {
    for (const LiveObject& object : window.objects) {
        if (object.birth_ticket == ticket) return &object;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("blocks older than the ring are live at the begin, whether they are freed in the window or not") {
    RingWriter ring(small());
    ring.segment(kBase, 40 * kMiB);
    ring.site = 77;
    const uint64_t kept = ring.block_alloc(kBase, 4 * kMiB);
    const uint64_t freed = ring.block_alloc(kBase + 8 * kMiB, 4 * kMiB);
    for (uint64_t i = 1; i <= 1000; ++i)
        ring.step(i);
    ring.block_free(kBase + 8 * kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(blocks_of(Ledger(result.capture->window)) == "0+4 8+4 ");
    CHECK(blocks_of(*result.ledger) == "0+4 ");
    const LiveObject* const old = object_born_at(result.capture->window, freed);
    REQUIRE(old != nullptr);
    CHECK(old->birth_known);
    CHECK(old->site == 77);
    CHECK(old->live_at_begin);
    CHECK(!old->live_at_end);
    CHECK(result.ledger->find_block(kBase)->birth_ticket == kept);
    CHECK(result.ledger->find_block(kBase)->site == 77);
}

TEST_CASE("the birth of a block freed early in the window is found in the ring before the window") {
    RingWriter ring(small());
    ring.segment(kBase, 40 * kMiB);
    for (uint64_t i = 1; i <= 400; ++i)
        ring.step(i);
    ring.site = 5;
    const uint64_t born = ring.block_alloc(kBase, 4 * kMiB);
    for (uint64_t i = 1; i <= 14; ++i)
        ring.step(400 + i);
    const uint64_t freed = ring.block_free(kBase);
    REQUIRE((ring.at(freed).flags & wire::kFlagBirthFollows) == 0);
    while (ring.header().head < born + 250)
        ring.step(1000);  // the window begins between birth and free
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    REQUIRE(result.capture->window.events.begin_ticket() > born);
    REQUIRE(result.capture->window.events.begin_ticket() <= freed);
    const LiveObject* const block = object_born_at(result.capture->window, born);
    REQUIRE(block != nullptr);
    CHECK(block->birth_known);
    CHECK(block->site == 5);
}

TEST_CASE("a committed birth that the table lacks is redone") {
    RingWriter ring;
    ring.segment(kBase, 40 * kMiB);
    const uint64_t born = ring.block_alloc(kBase, 4 * kMiB);
    ring.live(born)->state = 0;
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(blocks_of(*result.ledger) == "0+4 ");
    CHECK(result.capture->window.facts.redone_count == 1);
    CHECK(object_born_at(result.capture->window, born)->live_at_end);
}

TEST_CASE("a committed death that the table lacks is redone, of blocks born in the window and before it") {
    for (const uint64_t steps : {uint64_t{1}, uint64_t{1000}}) {
        RingWriter ring(small());
        ring.segment(kBase, 40 * kMiB);
        const uint64_t born = ring.block_alloc(kBase, 4 * kMiB);
        for (uint64_t i = 1; i <= steps; ++i)
            ring.step(i);
        const wire::LiveEntry alive = *ring.live(born);
        ring.block_free(kBase);
        ring.table()[1] = alive;
        const Replayed result = replayed(ring);
        INFO("steps " << steps);
        REQUIRE(!result.error);
        CHECK(blocks_of(*result.ledger).empty());
        CHECK(result.capture->window.facts.redone_count == 1);
    }
}

TEST_CASE("each thread may have one event that the table lacks, no more") {
    RingWriter ring;
    ring.segment(kBase, 40 * kMiB);
    for (uint16_t thread = 1; thread <= 4; ++thread) {
        ring.thread = thread;
        ring.live(ring.block_alloc(kBase + thread * kMiB, kMiB))->state = 0;
    }
    CHECK(replayed(ring).rule().empty());
    ring.live(ring.block_alloc(kBase, kMiB))->state = 0;
    CHECK(replayed(ring).rule() == "table_lag");
}

TEST_CASE("births that found the table full are known by their records") {
    RingWriter ring;
    ring.segment(kBase, 40 * kMiB);
    ring.block_alloc(kBase, kMiB);
    const uint64_t full = ring.block_alloc(kBase + kMiB, kMiB);
    const uint64_t also = ring.block_alloc(kBase + 2 * kMiB, kMiB);
    ring.live(full)->state = 0;
    ring.live(also)->state = 0;
    CHECK(replayed(ring).rule() == "table_lag");
    ring.header().incomplete_from = full + 1;
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(blocks_of(*result.ledger) == "0+1 1+1 2+1 ");
    CHECK(result.capture->window.facts.redone_count == 0);  // the table did not lag, it was full
}

TEST_CASE("an address that lived before is another life: its entry follows the birth ticket") {
    RingWriter ring(small());
    ring.segment(kBase, 40 * kMiB);
    ring.block_alloc(kBase, 4 * kMiB);
    for (uint64_t i = 1; i <= 1000; ++i)
        ring.step(i);
    ring.block_free(kBase);
    const uint64_t second = ring.block_alloc(kBase, 2 * kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->find_block(kBase)->birth_ticket == second);
    CHECK(result.ledger->find_block(kBase)->size_bytes == 2 * kMiB);
}

TEST_CASE("random programs replay to their own live blocks however often the ring wraps") {
    std::mt19937_64 random(4);
    for (int round = 0; round < 40; ++round) {
        RingWriter ring(small());
        for (uint64_t i = 0; i < 4; ++i)
            ring.segment(kBase + i * 64 * kMiB, 64 * kMiB);
        std::deque<uint64_t> live, unused;
        for (uint64_t i = 0; i < 256; ++i)
            unused.push_back(kBase + i * kMiB);
        const uint64_t events = 10 + random() % 3000;
        while (ring.header().head < events) {
            ring.thread = static_cast<uint16_t>(1 + random() % 3);
            const bool birth = live.empty() || (random() % 2 == 0 && !unused.empty());
            auto& from = birth ? unused : live;
            const size_t at = random() % from.size();
            const uint64_t address = from[at];
            from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
            if (birth) {
                ring.block_alloc(address, 512 * (1 + random() % 2048));
                live.push_back(address);
            } else {
                ring.block_free(address);
                unused.push_back(address);
            }
        }
        const Replayed result = replayed(ring);
        INFO("round " << round << " events " << events);
        REQUIRE(result.rule() == "");
        CHECK(result.ledger->block_count() == live.size());
        for (const uint64_t address : live)
            CHECK(result.ledger->find_block(address) != nullptr);
        CHECK(result.ledger->device(0).unseen_allocated_bytes == 0);
    }
}

TEST_CASE(
    "a table copied before the head was read may lag by many events of a thread, and be too new by none") {
    RingWriter ring(small());
    ring.segment(kBase, 40 * kMiB);
    for (uint64_t i = 0; i < 3; ++i)
        ring.block_alloc(kBase + i * kMiB, kMiB);
    const auto capture = read(ring);
    REQUIRE(capture);
    const auto built = [&](uint64_t table_head_ticket, std::vector<LiveObject> table) {
        WindowSource source;
        source.events = capture->window.events;
        source.table = std::move(table);
        source.table_head_ticket = table_head_ticket;
        return build_window(std::move(source));
    };
    const auto lagging = built(1, {});
    REQUIRE(lagging);
    CHECK(lagging->facts.redone_count == 4);
    const auto still = built(kNoTicket, {});
    REQUIRE(!still);
    CHECK(still.error().rule == Rule::table_lag);
    LiveObject too_new;
    too_new.birth_ticket = capture->window.events.end_ticket();
    CHECK(built(1, {too_new}));
}

TEST_CASE("an entry whose birth was captured into a graph is no object of the window") {
    RingWriter ring;
    wire::Record captured = {};
    captured.kind = wire::Kind::ok;
    captured.op = wire::Op::cudaGraphAddMemAllocNode;
    captured.flags = wire::kFlagCapturing;
    captured.address = kBase;
    captured.size = kMiB;
    const uint64_t birth = ring.record(captured);
    wire::LiveEntry entry = {};
    entry.object = wire::Object::graph_node;
    entry.op = captured.op;
    entry.address = kBase;
    entry.size = kMiB;
    entry.birth_ticket = birth;
    entry.state = ring.header().head << 1 | 1;
    RingWriter::seal(entry);
    ring.table().push_back(entry);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(object_born_at(result.capture->window, birth) == nullptr);
    CHECK(result.capture->window.facts.redone_count == 0);
}
