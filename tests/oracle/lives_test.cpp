// SPDX-License-Identifier: Apache-2.0
//
// Lives: births and deaths paired, across the window's begin, with and without losses. Rule: lives are asked
// for by instant.
#include <memory>

#include "catch.h"
#include "oracle/scene.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

struct Made {
    File file;
    Scene scene;
};

std::unique_ptr<Made> made(const RingBuilder& ring) {
    auto out = std::make_unique<Made>();
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    out->file = *file;
    out->scene = make_scene(recording_of_ring(out->file));
    return out;
}

bool broken(const Scene& scene, std::string_view rule) {
    return std::any_of(scene.issues.begin(), scene.issues.end(),
                       [&](const Issue& issue) { return issue.rule == rule; });
}

}  // namespace

TEST_CASE("a block lives from its allocation until its free") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    u64 born = ring.alloc(kSegmentAt, 2 * kMiB);
    u64 died = ring.free(kSegmentAt, 2 * kMiB, born);
    auto m = made(ring);
    CHECK(m->scene.live_block_bytes(0, born - 1) == 0);
    CHECK(m->scene.live_block_bytes(0, born) == 2 * kMiB);
    CHECK(m->scene.live_block_bytes(0, died - 1) == 2 * kMiB);
    CHECK(m->scene.live_block_bytes(0, died) == 0);
}

TEST_CASE("what was freed in the window and born before it was live at its begin") {
    RingBuilder ring(64);
    for (int i = 0; i < 100; ++i)
        ring.record({.kind = kMark});
    u64 free = ring.record({.kind = kBlockFree,
                            .flags = kTotalsPresent | kBirthFollows,
                            .address = kSegmentAt,
                            .size = kMiB,
                            .link = 5});
    ring.record({.kind = kBirth, .address = kSegmentAt, .size = kMiB, .link = 77, .extra = 3});
    auto m = made(ring);
    CHECK(m->scene.live_block_bytes(0, m->file.begin) == Int{kMiB});
    CHECK(m->scene.live_block_bytes(0, free) == 0);
    auto block = std::find_if(m->scene.lives.begin(), m->scene.lives.end(),
                              [](const Life& life) { return life.object == kBlock; });
    REQUIRE(block != m->scene.lives.end());
    CHECK(block->birth == 5);
    CHECK(block->site == 77);
    CHECK(block->step == 3);
}

TEST_CASE("a live entry of the table that is older than the window was live at its begin") {
    RingBuilder ring(64);
    for (int i = 0; i < 100; ++i)
        ring.record({.kind = kMark});
    ring.entry(0, kBlock, kSegmentAt, kMiB, 3);
    auto m = made(ring);
    CHECK(m->scene.live_block_bytes(0, m->file.begin) == Int{kMiB});
}

TEST_CASE("a refused free gives the object back with its old birth") {
    RingBuilder ring;
    u64 born = ring.segment(kSegmentAt, 2 * kMiB);
    u64 free = ring.record({.kind = kFree,
                            .flags = kFromAllocator,
                            .address = kSegmentAt,
                            .size = 2 * kMiB,
                            .link = born,
                            .call = 32});
    u64 back = ring.record({.kind = kFreeFail,
                            .flags = kFromAllocator,
                            .address = kSegmentAt,
                            .size = 2 * kMiB,
                            .link = born,
                            .call = 32,
                            .code = 1});
    auto m = made(ring);
    auto alive_at = [&](u64 ticket) {
        return std::any_of(m->scene.lives.begin(), m->scene.lives.end(),
                           [&](const Life& life) { return life.birth == born && life.alive_at(ticket); });
    };
    CHECK_FALSE(alive_at(free));
    CHECK(alive_at(back));
}

TEST_CASE("a call that ends a context ends what the birth tickets name, whatever its own class") {
    RingBuilder ring;
    constexpr u8 kDeviceReset = 44;
    constexpr std::array<u8, 5> kAllocating{1, 7, 9, 4, 123};  // device, managed, host, array, context
    std::vector<u64> births;
    for (u8 call : kAllocating)
        births.push_back(ring.record({.kind = kOk, .address = kSegmentAt, .size = kMiB, .call = call}));
    auto end = [&](u64 birth) {
        return ring.record(
            {.kind = kFree, .address = kSegmentAt, .size = kMiB, .link = birth, .call = kDeviceReset});
    };
    auto alive = [&] {
        auto m = made(ring);
        CHECK_FALSE(broken(m->scene, "object_unmatched"));
        std::vector<Class> classes;
        for (const auto& life : m->scene.lives) {
            if (life.alive_at(ring.head())) classes.push_back(life.object);
        }
        std::sort(classes.begin(), classes.end());
        return classes;
    };
    CHECK(alive() == std::vector<Class>{kDevice, kManaged, kHost, kArray, kContext});
    end(births[2]);
    CHECK(alive() == std::vector<Class>{kDevice, kManaged, kArray, kContext});
    end(births[0]);
    end(births[1]);
    end(births[3]);
    CHECK(alive() == std::vector<Class>{kContext});
    end(births[4]);
    CHECK(alive().empty());
}

TEST_CASE("a free ends what its birth ticket names, but never a block") {
    RingBuilder ring;
    u64 block = ring.alloc(kSegmentAt, kMiB);
    u64 host = ring.record({.kind = kOk, .address = kSegmentAt, .size = kMiB, .call = 9});
    auto alive = [&](Class object) {
        auto m = made(ring);
        return std::any_of(m->scene.lives.begin(), m->scene.lives.end(), [&](const Life& life) {
            return life.object == object && life.alive_at(ring.head());
        });
    };
    ring.record({.kind = kFree, .address = kSegmentAt, .size = kMiB, .link = block, .call = 32});
    CHECK(alive(kBlock));
    CHECK(alive(kHost));
    ring.record({.kind = kFree, .address = kSegmentAt, .size = kMiB, .link = host, .call = 32});
    CHECK_FALSE(alive(kHost));
}

TEST_CASE("a refused call that ends a context gives back what was born before the window") {
    RingBuilder ring(64);
    while (ring.head() < 100)
        ring.record({.kind = kMark});
    ring.record(
        {.kind = kFree, .flags = kBirthFollows, .address = kSegmentAt, .size = kMiB, .link = 5, .call = 176});
    ring.record({.kind = kBirth, .address = kSegmentAt, .size = kMiB, .call = 7});
    u64 back = ring.record(
        {.kind = kFreeFail, .address = kSegmentAt, .size = kMiB, .link = 5, .call = 176, .code = 1});
    auto m = made(ring);
    auto lives = std::count_if(m->scene.lives.begin(), m->scene.lives.end(), [&](const Life& life) {
        return life.object == kManaged && life.birth == 5 && life.alive_at(back);
    });
    CHECK(lives == 1);
    CHECK_FALSE(broken(m->scene, "object_unmatched"));
}

TEST_CASE("a captured call is no service: a library that only captured did not get over its failure") {
    RingBuilder captured, served;
    for (auto* ring : {&captured, &served}) {
        ring->record({.kind = kFail, .size = kMiB, .call = 11, .library = 3, .code = 2});
        auto flags = static_cast<u8>(ring == &captured ? kCapturing : 0);
        ring->record(
            {.kind = kOk, .flags = flags, .address = kSegmentAt, .size = kMiB, .call = 11, .library = 3});
        ring->put(576, 1, 8);
    }
    auto evidence = [](const RingBuilder& ring) {
        auto result = examine(ring.bytes());
        REQUIRE(result);
        return result->document["evidence"];
    };
    CHECK(evidence(captured)["failures"].array()->size() == 1);
    CHECK(evidence(captured)["near_misses"].array()->empty());
    CHECK(evidence(served)["near_misses"].array()->size() == 1);
}

TEST_CASE("a block at the address of a live one breaks a rule and ends it, and is named for that alone") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    u64 second = ring.alloc(kSegmentAt, 2 * kMiB);
    auto m = made(ring);
    CHECK(broken(m->scene, "block_live_twice"));
    CHECK_FALSE(broken(m->scene, "totals_allocated"));
    CHECK(m->scene.live_block_bytes(0, second) == 2 * kMiB);
}

TEST_CASE("a block on a part of a live one breaks a rule") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    ring.alloc(kSegmentAt + 2 * kMiB, 2 * kMiB);
    CHECK_FALSE(broken(made(ring)->scene, "block_overlap"));
    ring.alloc(kSegmentAt + 4 * kMiB - 512, 2 * kMiB);
    CHECK(broken(made(ring)->scene, "block_overlap"));
}

TEST_CASE("a block must end in the segment it starts in") {
    RingBuilder fits, reaches;
    for (auto* ring : {&fits, &reaches})
        ring->segment(kSegmentAt, 2 * kMiB);
    fits.alloc(kSegmentAt + kMiB, kMiB);
    reaches.alloc(kSegmentAt + kMiB, kMiB + 512);
    CHECK_FALSE(broken(made(fits)->scene, "block_outside_segment"));
    CHECK(broken(made(reaches)->scene, "block_outside_segment"));
}

TEST_CASE("one event of a thread may be missing in the table, two may not") {
    RingBuilder ring;
    u64 segment = ring.segment(kSegmentAt, 20 * kMiB);
    u64 first = ring.alloc(kSegmentAt, 2 * kMiB);
    ring.alloc(kSegmentAt + 2 * kMiB, 2 * kMiB);
    ring.entry(0, kDevice, kSegmentAt, 20 * kMiB, segment);
    CHECK(broken(made(ring)->scene, "table_lag"));
    ring.entry(1, kBlock, kSegmentAt, 2 * kMiB, first);
    CHECK_FALSE(broken(made(ring)->scene, "table_lag"));
    CHECK_FALSE(broken(made(ring)->scene, "table_end"));
}

TEST_CASE("a broken rule is corruption before the first loss and tolerated after it") {
    RingBuilder ring;
    ring.entry(0, kDevice, kSegmentAt, 20 * kMiB, ring.segment(kSegmentAt, 20 * kMiB));
    ring.entry(1, kBlock, kSegmentAt, 2 * kMiB, ring.alloc(kSegmentAt, 2 * kMiB));
    ring.free(kSegmentAt + kMiB, 2 * kMiB, kNoTicket);
    auto certain = examine(ring.bytes());
    REQUIRE_FALSE(certain);
    CHECK(certain.error().rule == "free_unmatched");
    CHECK(certain.error().ticket == 2);
    ring.put(576, 1, 8);
    auto lossy = examine(ring.bytes());
    REQUIRE(lossy);
    CHECK(*lossy->document["capture"]["tolerated"]["free_unmatched"].number() == 1);
}
