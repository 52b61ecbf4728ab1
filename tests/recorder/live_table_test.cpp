// SPDX-License-Identifier: Apache-2.0
#include "live_table.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "catch.h"
#include "cpu.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

struct Fixture {
    explicit Fixture(uint32_t slot_count)
        : entries(slot_count),
          private_words(slot_count * LiveTable::kPrivateBytesPerSlot / sizeof(uint64_t)) {
        table.open(entries.data(), private_words.data(), slot_count);
    }
    bool enter(uint64_t address, uint64_t birth, wire::Object object = wire::Object::block) {
        Event event;
        event.address = address;
        event.size = 512;
        return table.enter(pack_birth(event, birth, object), birth, Home::untold);
    }
    uint32_t live_count() const {
        std::vector<wire::LiveEntry> copies(entries.size());
        uint32_t dropped = 0;
        return table.copy_live(copies.data(), static_cast<uint32_t>(copies.size()), dropped);
    }

    std::vector<wire::LiveEntry> entries;
    std::vector<uint64_t> private_words;
    LiveTable table;
};

}  // namespace

TEST_CASE("An entered object is found by class and address, and no longer after its death") {
    Fixture fixture(256);
    REQUIRE(fixture.enter(0x1000, 7));
    REQUIRE(fixture.enter(0x1000, 8, wire::Object::device));
    CHECK(fixture.table.claim(wire::Object::mapping, 0x1000) == LiveTable::kNoSlot);
    uint32_t slot = fixture.table.claim(wire::Object::block, 0x1000);
    REQUIRE(slot != LiveTable::kNoSlot);
    CHECK(fixture.table.entry(slot).birth_ticket == 7);
    fixture.table.retire(slot, 20);
    CHECK(fixture.entries[slot].state == uint64_t{21} << 1);
    CHECK(fixture.table.claim(wire::Object::block, 0x1000) == LiveTable::kNoSlot);
    CHECK(fixture.live_count() == 1);
}

TEST_CASE("An entry holds every fact of the birth, and a fitting check") {
    Fixture fixture(16);
    Event event{
        wire::Kind::ok, wire::kFlagImported, 1, 22, 0x1000, 33, 44, 0, 0, 3, wire::Op::cudaMalloc, 5, 0};
    REQUIRE(fixture.table.enter(pack_birth(event, 66, wire::Object::device), 77, Home::untold));
    const wire::LiveEntry& entry = fixture.table.entry(fixture.table.claim(wire::Object::device, 0x1000));
    uint64_t words[8];
    std::memcpy(words, &entry, sizeof words);
    CHECK(entry.check == entry_check(words));
    CHECK(entry.state == (uint64_t{78} << 1 | 1));
    CHECK(entry.size == 33);
    CHECK(entry.birth_ticket == 66);
    CHECK(entry.birth_time == 22);
    CHECK(entry.site == 44);
    CHECK(entry.library == 5);
    CHECK(entry.device == 3);
    CHECK(entry.op == wire::Op::cudaMalloc);
    CHECK(entry.flags == wire::kFlagImported);
}

TEST_CASE("A claimed entry belongs to one thread: a second claim finds nothing") {
    Fixture fixture(256);
    REQUIRE(fixture.enter(0x1000, 7));
    REQUIRE(fixture.table.claim(wire::Object::block, 0x1000) != LiveTable::kNoSlot);
    CHECK(fixture.table.claim(wire::Object::block, 0x1000) == LiveTable::kNoSlot);
}

TEST_CASE("References to one handle are entries of their own") {
    Fixture fixture(256);
    REQUIRE(fixture.enter(0x5, 1, wire::Object::vmm_handle));
    REQUIRE(fixture.enter(0x5, 2, wire::Object::vmm_handle));
    uint64_t births = 0;
    for (int i = 0; i < 2; ++i) {
        uint32_t slot = fixture.table.claim(wire::Object::vmm_handle, 0x5);
        REQUIRE(slot != LiveTable::kNoSlot);
        births += fixture.table.entry(slot).birth_ticket;
        fixture.table.retire(slot, 9);
    }
    CHECK(births == 3);
    CHECK(fixture.table.claim(wire::Object::vmm_handle, 0x5) == LiveTable::kNoSlot);
}

TEST_CASE("Of several entries at one address the one that was born first can be claimed") {
    Fixture fixture(256);
    for (uint64_t birth : {30, 10, 20}) {
        REQUIRE(fixture.enter(0x1000, birth));
    }
    REQUIRE(fixture.enter(0x2000, 5));
    for (uint64_t birth : {10, 20, 30}) {
        uint32_t slot = fixture.table.claim_oldest(wire::Object::block, 0x1000);
        REQUIRE(slot != LiveTable::kNoSlot);
        CHECK(fixture.table.entry(slot).birth_ticket == birth);
        fixture.table.retire(slot, 40);
    }
    CHECK(fixture.table.claim_oldest(wire::Object::block, 0x1000) == LiveTable::kNoSlot);
    CHECK(fixture.live_count() == 1);
}

TEST_CASE("A full table refuses, and takes again once something died") {
    Fixture fixture(LiveTable::kSlotsPerBucket);
    for (uint64_t i = 1; i <= LiveTable::kSlotsPerBucket; ++i) {
        REQUIRE(fixture.enter(i * 512, i));
    }
    CHECK_FALSE(fixture.enter(0x100000, 99));
    fixture.table.retire(fixture.table.claim(wire::Object::block, 512), 100);
    CHECK(fixture.enter(0x100000, 101));
}

TEST_CASE("Two bucket choices fill nine tenths of the table before it refuses") {
    constexpr uint32_t kSlots = 65536;
    Fixture fixture(kSlots);
    uint32_t entered = 0;
    while (fixture.enter(0x7f0000000000 + uint64_t{entered} * 512, entered)) {
        ++entered;
    }
    CHECK(entered > kSlots / 10 * 9);
    CHECK(fixture.live_count() == entered);
}

TEST_CASE("Keys whose top bits collide are told apart by the entry itself") {
    Fixture fixture(256);
    uint64_t one = 0x20;
    uint64_t other = (uint64_t{2} << 59) | 0x20;  // mixes to the same key as another class of `one`
    REQUIRE(fixture.enter(other, 1, wire::Object::device));
    CHECK(fixture.table.claim(wire::Object::managed, one) == LiveTable::kNoSlot);
    CHECK(fixture.table.claim(wire::Object::device, other) != LiveTable::kNoSlot);
}

TEST_CASE("What ends with a context is found by its home, blocks and contexts apart") {
    Fixture fixture(256);
    constexpr Home kHere{7};
    constexpr Home kElsewhere{8};
    auto enter = [&fixture](uint64_t address, wire::Object object, Home home) {
        Event event;
        event.address = address;
        return fixture.table.enter(pack_birth(event, address, object), address, home);
    };
    REQUIRE(enter(0x100, wire::Object::device, kHere));
    REQUIRE(enter(0x200, wire::Object::host, kHere));
    REQUIRE(enter(0x300, wire::Object::device, kElsewhere));
    REQUIRE(enter(0x400, wire::Object::vmm_handle, Home::nobody));
    REQUIRE(enter(0x500, wire::Object::context, kHere));

    uint32_t slot = 0;
    std::vector<uint64_t> found;
    while (fixture.table.claim_at_home(kHere, false, slot) != LiveTable::kNoSlot) {
        found.push_back(fixture.table.entry(slot).address);
        CHECK(fixture.table.home(slot) == kHere);
        fixture.table.retire(slot, 0x900);
    }
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<uint64_t>{0x100, 0x200});
    slot = 0;
    REQUIRE(fixture.table.claim_at_home(kHere, true, slot) != LiveTable::kNoSlot);
    CHECK(fixture.table.entry(slot).address == 0x500);
    fixture.table.retire(slot, 0x901);
    CHECK(fixture.live_count() == 2);
}

TEST_CASE("A block in a slot whose last object had a home is not taken for that home's") {
    Fixture fixture(LiveTable::kSlotsPerBucket);
    constexpr Home kHome{7};
    Event event;
    for (uint64_t address = 1; address <= LiveTable::kSlotsPerBucket; ++address) {
        event.address = address << 12;
        REQUIRE(fixture.table.enter(pack_birth(event, address, wire::Object::device), address, kHome));
    }
    for (uint32_t slot = 0; fixture.table.claim_at_home(kHome, false, slot) != LiveTable::kNoSlot;) {
        fixture.table.retire(slot, 0x900);
    }
    REQUIRE(fixture.enter(0x1000, 0x901));
    uint32_t slot = 0;
    CHECK(fixture.table.claim_at_home(kHome, false, slot) == LiveTable::kNoSlot);
    CHECK(fixture.table.claim(wire::Object::block, 0x1000) != LiveTable::kNoSlot);
}

TEST_CASE("Slots reserved as unused are taken by nobody else") {
    Fixture fixture(LiveTable::kSlotsPerBucket * 2);
    REQUIRE(fixture.table.reserve_unused(0, LiveTable::kSlotsPerBucket * 2));
    CHECK_FALSE(fixture.enter(0x1000, 1));
    fixture.table.release_reserved(0, LiveTable::kSlotsPerBucket * 2);
    REQUIRE(fixture.enter(0x1000, 1));
    CHECK_FALSE(fixture.table.reserve_unused(0, LiveTable::kSlotsPerBucket * 2));
    CHECK(fixture.enter(0x2000, 2));
}

TEST_CASE("Four threads enter and retire their own objects without losing one") {
    Fixture fixture(4096);
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&fixture, &failures, t] {
            for (uint64_t i = 0; i < 20000; ++i) {
                uint64_t address = ((t << 20) + i % 128 + 1) * 512;
                if (!fixture.enter(address, i)) ++failures;
                uint32_t slot = fixture.table.claim(wire::Object::block, address);
                if (slot == LiveTable::kNoSlot || fixture.table.entry(slot).birth_ticket != i) {
                    ++failures;
                } else {
                    fixture.table.retire(slot, i + 1);
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(failures == 0);
    CHECK(fixture.live_count() == 0);
}
