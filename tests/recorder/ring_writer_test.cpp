// SPDX-License-Identifier: Apache-2.0
#include "ring_writer.h"

#include <cstring>
#include <thread>
#include <vector>

#include "catch.h"
#include "operation.h"
#include "ring_view.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

struct Fixture {
    Fixture() : slots(kSlots) { ring.open(slots.data(), kSlots, &header); }
    static constexpr uint64_t kSlots = 64;
    wire::Header header{};
    std::vector<wire::Record> slots;
    RingWriter ring;

    bool committed(uint64_t ticket) const {
        const wire::Record& slot = slots[ticket % kSlots];
        uint64_t words[8];
        std::memcpy(words, &slot, sizeof words);
        return slot.seq == ticket + 1 && slot.check == record_check(words);
    }
};

Event sized(uint64_t size) {
    Event event;
    event.kind = wire::Kind::block_alloc;
    event.size = size;
    return event;
}

}  // namespace

TEST_CASE("A committed record has its ticket and a fitting check") {
    Fixture fixture;
    uint64_t ticket = fixture.ring.commit(sized(512)).ticket();
    CHECK(ticket == 0);
    CHECK(fixture.committed(0));
    CHECK(fixture.header.head == 1);
}

TEST_CASE("A writer that was overtaken by a whole lap writes nothing and is counted") {
    Fixture fixture;
    for (uint64_t i = 0; i < Fixture::kSlots; ++i) {
        fixture.ring.commit(sized(i));
    }
    RingWriter::Tickets slow = fixture.ring.take_tickets(1);
    for (uint64_t i = 0; i < Fixture::kSlots; ++i) {
        fixture.ring.commit(sized(i));
    }
    REQUIRE(fixture.committed(slow.first + Fixture::kSlots));
    fixture.ring.commit(sized(12345), slow);
    CHECK(fixture.committed(slow.first + Fixture::kSlots));
    CHECK(fixture.header.counters.lapped == 1);
}

TEST_CASE("A slot that a writer a lap behind is still in is left to it, and that is counted") {
    Fixture fixture;
    for (uint64_t i = 0; i < Fixture::kSlots; ++i) {
        fixture.ring.commit(sized(i));
    }
    fixture.slots[0].seq = 0;  // as store_record leaves it halfway
    wire::Record halfway = fixture.slots[0];
    fixture.ring.commit(sized(12345));
    CHECK(std::memcmp(&fixture.slots[0], &halfway, sizeof halfway) == 0);
    CHECK(fixture.header.counters.lapped == 1);
}

TEST_CASE("Consecutive tickets are one thread's own") {
    Fixture fixture;
    uint64_t first = fixture.ring.take_tickets(2).first;
    CHECK(fixture.ring.take_tickets(1).first == first + 2);
}

TEST_CASE("Without slots tickets are taken and nothing is stored") {
    Fixture fixture;
    fixture.ring.open(nullptr, Fixture::kSlots, &fixture.header);
    CHECK(fixture.ring.commit(sized(512)).ticket() == 0);
    CHECK(fixture.ring.commit(sized(512)).ticket() == 1);
    CHECK(fixture.header.head == 2);
    CHECK(fixture.slots[0].seq == 0);
    CHECK(fixture.ring.may_have_lost(1));
}

TEST_CASE("From the ticket at which storing begins, everything is stored, at whatever place the lap begins") {
    Fixture fixture;
    fixture.ring.open(nullptr, Fixture::kSlots, &fixture.header);
    for (uint64_t i = 0; i < Fixture::kSlots + 7; ++i) {
        fixture.ring.commit(sized(i));
    }
    RingWriter::Tickets late = fixture.ring.take_tickets(1);  // before, and stored after
    uint64_t first = fixture.ring.begin_storing(fixture.slots.data());
    CHECK(first == late.first + 1);
    for (uint64_t i = 0; i < Fixture::kSlots; ++i) {
        uint64_t ticket = fixture.ring.commit(sized(i)).ticket();
        REQUIRE(ticket == first + i);
        REQUIRE(fixture.committed(ticket));
    }
    fixture.slots[fixture.ring.slot_of(first)].seq = 0;  // a writer is in it
    fixture.ring.commit(sized(1));
    CHECK(fixture.header.counters.lapped == 1);
    CHECK(fixture.ring.may_have_lost(first - 1));
    CHECK_FALSE(fixture.ring.may_have_lost(first + Fixture::kSlots));
}

TEST_CASE("What was taken before storing ends is still stored, and nothing that is taken after") {
    Fixture fixture;
    RingWriter::Tickets before = fixture.ring.take_tickets(1);
    uint64_t end = fixture.ring.head();
    fixture.ring.end_storing();
    fixture.ring.commit(sized(1), before);
    uint64_t after = fixture.ring.commit(sized(2)).ticket();
    CHECK(end == before.first + 1);
    CHECK(fixture.committed(before.first));
    CHECK(after == end);
    CHECK(fixture.slots[after].seq == 0);
}

TEST_CASE("Totals and every field survive their packing") {
    Event event{wire::Kind::mem_info,
                wire::kFlagNested,
                0x1234,
                5,
                6,
                7,
                8,
                0,
                0,
                -1,
                wire::Op::cuGraphLaunch,
                0xabcd,
                0x5678};
    event.set_totals(uint64_t{79} << 30, (uint64_t{1} << 48) - 512);
    wire::Record record = pack(event, 41).unpack();
    uint64_t allocated = 0;
    uint64_t reserved = 0;
    std::memcpy(&allocated, record.tail, 5);
    std::memcpy(&reserved, record.tail + 5, 5);
    CHECK(allocated * wire::kTotalsUnit_bytes == uint64_t{79} << 30);
    CHECK(reserved * wire::kTotalsUnit_bytes == (uint64_t{1} << 48) - 512);
    CHECK(record.flags == (wire::kFlagNested | wire::kFlagTotals));
    CHECK(record.seq == 42);
    CHECK(record.kind == wire::Kind::mem_info);
    CHECK(record.thread == 0x1234);
    CHECK(record.time == 5);
    CHECK(record.address == 6);
    CHECK(record.size == 7);
    CHECK(record.link == 8);
    CHECK(record.device == -1);
    CHECK(record.op == wire::Op::cuGraphLaunch);
    CHECK(record.library == 0xabcd);
    CHECK(record.code == 0x5678);
}

TEST_CASE("Threads writing at once lose no record within one lap") {
    Fixture fixture;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&fixture] {
            for (uint64_t i = 0; i < Fixture::kSlots / 4; ++i) {
                fixture.ring.commit(sized(i));
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (uint64_t ticket = 0; ticket < Fixture::kSlots; ++ticket) {
        REQUIRE(fixture.committed(ticket));
    }
}

namespace {

wire::Record call(wire::Kind kind, wire::Op op, uint64_t size, uint64_t ticket, uint16_t code = 0) {
    wire::Record record{};
    record.kind = kind;
    record.op = op;
    record.size = size;
    record.seq = ticket + 1;
    record.code = code;
    return record;
}

struct Summary {
    uint64_t mem_info = 0;
    uint16_t failed = 0;
    Event record;
    explicit Summary(const Operation& operation) {
        operation.describe(record);
        mem_info = record.tail;
        failed = record.tail16;
    }
};

}  // namespace

TEST_CASE("An operation remembers its first failure, its last request and its last observation") {
    Operation operation;
    operation.note(call(wire::Kind::try_call, wire::Op::cudaMalloc, 100, 10), true);
    operation.note(call(wire::Kind::fail, wire::Op::cudaMalloc, 100, 11, 2), true);
    operation.note(call(wire::Kind::mem_info, wire::Op::cudaMemGetInfo, 0, 12), false);
    operation.note(call(wire::Kind::fail, wire::Op::cudaMalloc, 200, 13, 2), true);
    Summary summary(operation);
    CHECK(summary.record.address == 100);
    CHECK(summary.record.link == 11);
    CHECK(summary.record.code == 2);
    CHECK(summary.record.size == 200);
    CHECK(summary.mem_info == 12);
    CHECK(summary.failed == 2);
}

TEST_CASE("An attempt that maps granules asked for all of them, the refused one included") {
    Operation operation;
    operation.note(call(wire::Kind::ok, wire::Op::cuMemCreate, 20, 1), true);
    operation.note(call(wire::Kind::ok, wire::Op::cuMemCreate, 20, 2), true);
    operation.note(call(wire::Kind::fail, wire::Op::cuMemCreate, 20, 3, 2), true);
    operation.note(call(wire::Kind::ok, wire::Op::cuMemCreate, 20, 4), true);
    operation.note(call(wire::Kind::fail, wire::Op::cuMemCreate, 20, 5, 2), true);
    Summary summary(operation);
    CHECK(summary.record.address == 20);
    CHECK(summary.record.link == 3);
    CHECK(summary.record.size == 40);
}

TEST_CASE("A success starts a new operation, in which nothing has failed") {
    Operation operation;
    operation.note(call(wire::Kind::fail, wire::Op::cudaMalloc, 100, 11, 2), true);
    operation.restart();
    Summary summary(operation);
    CHECK(summary.record.link == wire::kNoTicket);
    CHECK(summary.mem_info == wire::kNoTicket);
    CHECK(summary.failed == 0);
}
