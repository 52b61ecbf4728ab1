// SPDX-License-Identifier: Apache-2.0
//
// Each validation rule is broken once in a ring that is otherwise right, and once more after a declared loss.
#include <set>

#include "catch.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr uint64_t kLoss = 5;

// A segment with two blocks; the second was freed, so its range is free.
RingWriter good_ring() {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, 4 * kMiB);
    ring.block_alloc(kBase + 4 * kMiB, 4 * kMiB);
    ring.block_free(kBase + 4 * kMiB);
    return ring;
}

struct Breakage {
    Rule rule;
    uint64_t ticket;  // kNoTicket: at no single record
    void (*apply)(RingWriter&);
};

// Changes a record and gives it a right check again.
template <class F>
void alter(RingWriter& ring, uint64_t ticket, F&& change) {
    change(ring.at(ticket));
    RingWriter::seal(ring.at(ticket));
}

// Tickets of good_ring: 0 try, 1 ok, 2 alloc, 3 alloc, 4 free; what a breakage adds begins at 5.
const Breakage kBreakages[] = {
    {Rule::link_order, 4, [](RingWriter& ring) { alter(ring, 4, [](wire::Record& r) { r.link = 4; }); }},
    {Rule::block_size, 2, [](RingWriter& ring) { alter(ring, 2, [](wire::Record& r) { r.size = 0; }); }},
    {Rule::block_size, 2,
     [](RingWriter& ring) { alter(ring, 2, [](wire::Record& r) { r.size = 4 * kMiB + 1; }); }},
    {Rule::block_size, 2,
     [](RingWriter& ring) { alter(ring, 2, [](wire::Record& r) { r.size = uint64_t{0} - 512; }); }},
    {Rule::block_live_twice, 5, [](RingWriter& ring) { ring.block_alloc(kBase, 2 * kMiB); }},
    {Rule::block_overlap, 5, [](RingWriter& ring) { ring.block_alloc(kBase + 2 * kMiB, 4 * kMiB); }},
    {Rule::block_overlap, 6,
     [](RingWriter& ring) {
         ring.block_alloc(kBase + 10 * kMiB, 4 * kMiB);
         ring.block_alloc(kBase + 8 * kMiB, 4 * kMiB);
     }},
    {Rule::block_outside_segment, 5, [](RingWriter& ring) { ring.block_alloc(kBase + 18 * kMiB, 4 * kMiB); }},
    {Rule::free_unmatched, 4,
     [](RingWriter& ring) { alter(ring, 4, [](wire::Record& r) { r.address += 512; }); }},
    {Rule::free_mismatch, 4, [](RingWriter& ring) { alter(ring, 4, [](wire::Record& r) { r.size /= 2; }); }},
    {Rule::free_mismatch, 4, [](RingWriter& ring) { alter(ring, 4, [](wire::Record& r) { r.link = 1; }); }},
    {Rule::free_mismatch, 4, [](RingWriter& ring) { alter(ring, 4, [](wire::Record& r) { r.device = 1; }); }},
    {Rule::totals_allocated, 3,
     [](RingWriter& ring) { alter(ring, 3, [](wire::Record& r) { ++r.tail[0]; }); }},
    {Rule::totals_reserved, 2,
     [](RingWriter& ring) {
         alter(ring, 2, [](wire::Record& r) { std::fill(r.tail + 5, r.tail + 10, uint8_t{0}); });
     }},
    {Rule::table_duplicate, 2, [](RingWriter& ring) { ring.table().push_back(*ring.live(2)); }},
    {Rule::table_birth, 0,
     [](RingWriter& ring) {
         ring.live(2)->birth_ticket = 0;  // a try is no birth
         RingWriter::seal(*ring.live(0));
     }},
    {Rule::table_birth, 2,
     [](RingWriter& ring) {
         ring.live(2)->address += 512;
         RingWriter::seal(*ring.live(2));
     }},
    {Rule::table_death, 4,
     [](RingWriter& ring) {
         wire::LiveEntry dead = *ring.live(2);
         dead.birth_ticket = 3;
         dead.address = kBase + 4 * kMiB;
         dead.state = 5 << 1 | 1;  // taken up after the free, and yet live
         RingWriter::seal(dead);
         ring.table().push_back(dead);
     }},
    {Rule::table_lag, 6,
     [](RingWriter& ring) {
         ring.block_alloc(kBase + 8 * kMiB, kMiB);
         ring.block_alloc(kBase + 9 * kMiB, kMiB);
         ring.live(5)->state = 0;
         ring.live(6)->state = 0;
     }},
};

}  // namespace

TEST_CASE("a ring that lost nothing replays without a broken rule") {
    RingWriter ring = good_ring();
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(blocks_of(*result.ledger) == "0+4 ");
    for (const uint64_t count : result.outcome.tolerated)
        CHECK(count == 0);
}

TEST_CASE("each rule of the allocator's layer is corruption when it is broken, named with its record") {
    for (const Breakage& breakage : kBreakages) {
        RingWriter ring = good_ring();
        breakage.apply(ring);
        const Replayed result = replayed(ring);
        INFO(name(breakage.rule));
        if (!result.error) {
            FAIL_CHECK("not seen");
            continue;
        }
        CHECK(result.error->code == ErrorCode::corrupt);
        CHECK(result.error->rule == name(breakage.rule));
        CHECK(result.error->detail == sentence(breakage.rule));
        CHECK(result.error->ticket == breakage.ticket);
        CHECK(result.error->offset_bytes == ring.header().areas[0].offset_bytes + breakage.ticket * 64);
        CHECK(!result.error->way_out.empty());
    }
}

TEST_CASE("after a declared loss a broken rule is counted, not corruption") {
    for (const Breakage& breakage : kBreakages) {
        RingWriter ring = good_ring();
        breakage.apply(ring);
        ring.header().counters.lost = kLoss;
        const Replayed result = replayed(ring);
        INFO(name(breakage.rule));
        REQUIRE(!result.error);
        CHECK(result.capture->window.facts.is_uncertain(Uncertainty::events_lost));
    }
}

TEST_CASE("a loss explains only what comes after it") {
    RingWriter ring = good_ring();
    ring.block_alloc(kBase, 2 * kMiB);  // twice live
    SECTION("the loss is later: corruption") {
        ring.lose();
        CHECK(replayed(ring).rule() == "block_live_twice");
    }
    SECTION("the loss is earlier: counted") {
        ring.at(4).seq = 0;  // the free between them
        ring.at(4).check = 0;
        const Replayed result = replayed(ring);
        REQUIRE(!result.error);
        CHECK(result.tolerated(Rule::block_live_twice) == 1);
    }
}

TEST_CASE("a block that is not in the live table at the end, and was not born last, is a broken end") {
    RingWriter ring = good_ring();
    // Another thread each time, so that the lag of one event a thread is not exceeded; the table then holds a
    // block of another size than the one that was reported.
    ring.live(2)->size = 8 * kMiB;
    RingWriter::seal(*ring.live(2));
    CHECK(replayed(ring).rule() == "table_end");
}

TEST_CASE("the state at the window's begin may not contradict itself") {
    RingWriterOptions options;
    options.ring_records = 64;
    RingWriter ring(options);
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, 4 * kMiB);
    ring.block_alloc(kBase + 4 * kMiB, 4 * kMiB);
    for (uint64_t i = 1; i <= 100; ++i)
        ring.step(i);
    ring.live(3)->address -= kMiB;
    RingWriter::seal(*ring.live(3));
    CHECK(replayed(ring).rule() == "block_overlap");
}

TEST_CASE("a free that announces its birth must be followed by it") {
    RingWriterOptions options;
    options.ring_records = 64;
    RingWriter ring(options);
    ring.segment(kBase, 20 * kMiB);
    const uint64_t born = ring.block_alloc(kBase, 4 * kMiB);
    for (uint64_t i = 1; i <= 10; ++i)
        ring.step(i);
    const uint64_t freed = ring.block_free(kBase);
    REQUIRE(ring.at(freed + 1).kind == wire::Kind::birth);
    REQUIRE(ring.at(freed).link == born);
    CHECK(replayed(ring).rule().empty());
    alter(ring, freed + 1, [](wire::Record& r) { r.kind = wire::Kind::mark; });
    CHECK(replayed(ring).rule() == "birth_missing");
}

TEST_CASE("driver and runtime objects are counted, never corruption") {
    RingWriter ring = good_ring();
    wire::Record unknown = {};
    unknown.kind = wire::Kind::free;
    unknown.op = wire::Op::cudaFree;
    unknown.link = wire::kNoTicket;
    ring.record(unknown);
    ring.foreign_call(wire::Op::cudaMalloc, kBase + 10 * kMiB, 4 * kMiB);  // inside a segment
    ring.foreign_call(wire::Op::cudaMallocHost, kBase + 100 * kMiB, 4 * kMiB);
    ring.live(9)->address += 4096;
    RingWriter::seal(*ring.live(9));
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.tolerated(Rule::object_unmatched) == 1);
    CHECK(result.tolerated(Rule::segment_overlap) == 1);
    CHECK(result.tolerated(Rule::object_end) == 1);
}

TEST_CASE("every rule has a name of its own and a sentence") {
    std::set<std::string_view> names, sentences;
    for (size_t i = 0; i < kRuleCount; ++i) {
        names.insert(name(static_cast<Rule>(i)));
        sentences.insert(sentence(static_cast<Rule>(i)));
    }
    CHECK(names.size() == kRuleCount);
    CHECK(sentences.size() == kRuleCount);
}
