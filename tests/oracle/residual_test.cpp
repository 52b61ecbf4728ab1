// SPDX-License-Identifier: Apache-2.0
//
// What two observations leave to others and contexts. Rule: intervals one byte apart or touching, and nothing
// else changed.
#include "oracle/residual.h"
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u64 kForeignAt = kSegmentAt + 64 * kGiB;

u64 observe(RingBuilder& ring, u64 device_free) {
    return ring.record({.kind = kMemInfo, .size = kGiB, .link = device_free, .call = 53});
}
u64 made(RingBuilder& ring, u8 call, u64 address, u64 size, u8 flags = 0) {
    return ring.record(
        {.kind = kOk, .flags = flags, .address = address, .size = size, .call = call, .library = 3});
}
void freed(RingBuilder& ring, u8 call, u64 address, u64 size, u64 birth, u8 flags = 0) {
    ring.record({.kind = kFree,
                 .flags = flags,
                 .address = address,
                 .size = size,
                 .link = birth,
                 .call = call,
                 .library = 3});
}

std::pair<Int, Int> last_residual(const RingBuilder& ring) {
    auto file = decode(ring.bytes(), std::nullopt);
    REQUIRE(file);
    auto scene = make_scene(recording_of_ring(*file));
    auto residuals = residuals_of(scene, 0, ring.head());
    REQUIRE_FALSE(residuals.empty());
    return {residuals.back().low, residuals.back().high};
}
Json reconciliation_of(RingBuilder ring) {
    ring.put(576, 1, 8);  // a loss, so that the live table may stay empty
    ring.record(ring.report(kBlockOom, 0, 2 * kGiB, 9));
    auto result = examine(ring.bytes());
    REQUIRE(result);
    return result->document["evidence"]["reconciliation"];
}
Int number(const Json& json, std::string_view name) {
    REQUIRE(json[name].number() != nullptr);
    return *json[name].number();
}

}  // namespace

TEST_CASE("what the driver rounds up may be nobody's") {
    RingBuilder ring;
    made(ring, 1, kForeignAt, 3 * kMiB + 1);
    made(ring, 1, kForeignAt + kGiB, 4 * kMiB);
    made(ring, 1, kForeignAt + 2 * kGiB, kMiB, kImported);  // the exporter's
    observe(ring, 900 * kMiB);
    Int rest = 124 * Int{kMiB} - 7 * Int{kMiB} - 1;
    CHECK(last_residual(ring) == std::pair{rest - (Int{kMiB} - 1), rest});
}

TEST_CASE("what stream-ordered memory once took its pool may keep") {
    RingBuilder ring;
    u64 first = made(ring, 11, kForeignAt, 6 * kMiB);
    made(ring, 11, kForeignAt + kGiB, 2 * kMiB);
    freed(ring, 33, kForeignAt, 6 * kMiB, first);
    observe(ring, 900 * kMiB);
    Int rest = (124 - 2) * Int{kMiB};
    CHECK(last_residual(ring) == std::pair{rest - 6 * Int{kMiB}, rest});
}

TEST_CASE("a pool grows by whole pages") {
    RingBuilder ring;
    made(ring, 11, kForeignAt, 512);
    u64 second = made(ring, 11, kForeignAt + kGiB, 2 * kMiB + 512);
    freed(ring, 33, kForeignAt + kGiB, 2 * kMiB + 512, second);
    observe(ring, 900 * kMiB);
    Int rest = 124 * Int{kMiB} - 512;
    CHECK(last_residual(ring) == std::pair{rest - (6 * Int{kMiB} - 512), rest});
}

TEST_CASE(
    "a captured allocation is a graph node: it takes nothing from the card, nor does its free give back") {
    RingBuilder ring;
    u64 real = made(ring, 11, kForeignAt, 6 * kMiB);
    u64 node = made(ring, 11, kForeignAt + kGiB, 2 * kMiB, kCapturing);
    freed(ring, 33, kForeignAt + kGiB, 2 * kMiB, node, kCapturing);
    freed(ring, 33, kForeignAt, 6 * kMiB, real, kCapturing);
    observe(ring, 900 * kMiB);
    CHECK(last_residual(ring) == std::pair{118 * Int{kMiB}, 118 * Int{kMiB}});
}

TEST_CASE("intervals that touch agree, one byte more is a mismatch of one byte") {
    auto seen_twice = [](u64 later_free) {
        RingBuilder ring;
        observe(ring, 900 * kMiB);
        made(ring, 1, kForeignAt, 3 * kMiB);
        observe(ring, later_free);
        return reconciliation_of(ring);
    };
    // 4 MiB are gone where 3 were asked for: rounding may have taken the fourth, but no byte more or less.
    auto agrees = seen_twice(896 * kMiB);
    CHECK(number(agrees, "observation_count") == 2);
    CHECK(number(agrees, "mismatch_count") == 0);
    CHECK(number(agrees, "largest_difference_bytes") == 0);
    CHECK(number(seen_twice(896 * kMiB - 1), "mismatch_count") == 1);
    CHECK(number(seen_twice(896 * kMiB - 1), "largest_difference_bytes") == 1);
    CHECK(number(seen_twice(897 * kMiB), "mismatch_count") == 0);
    CHECK(number(seen_twice(897 * kMiB + 1), "largest_difference_bytes") == 1);
}

TEST_CASE("a free of what was never born ends the comparison until the next report") {
    auto seen = [](u64 birth, u8 call, bool reported) {
        RingBuilder ring;
        observe(ring, 900 * kMiB);
        freed(ring, call, kForeignAt, 0, birth);
        if (reported) ring.alloc(kSegmentAt, kMiB);
        observe(ring, 800 * kMiB);
        observe(ring, 700 * kMiB);
        return reconciliation_of(ring);
    };
    constexpr u8 kCudaFree = 32, kCudaFreeHost = 34;
    auto unknown = seen(kNoTicket, kCudaFree, false);
    CHECK(number(unknown, "observation_count") == 3);
    CHECK(number(unknown, "mismatch_count") == 0);
    CHECK(unknown["largest_difference_bytes"].is_null());
    CHECK(number(seen(kNoTicket, kCudaFree, true), "mismatch_count") == 1);
    CHECK(number(seen(kNoTicket, kCudaFreeHost, false), "mismatch_count") == 2);
}

TEST_CASE("samples are observations, but none that reconcile") {
    RingBuilder ring;
    observe(ring, 900 * kMiB);
    ring.record({.kind = kDeviceSample, .size = kGiB, .link = 700 * kMiB});
    CHECK(last_residual(ring).second == 324 * Int{kMiB});
    auto reconciliation = reconciliation_of(ring);
    CHECK(number(reconciliation, "observation_count") == 1);
    CHECK(reconciliation["largest_difference_bytes"].is_null());
}

TEST_CASE("physical memory behind a segment is the allocator's, not the library's that mapped it") {
    RingBuilder ring;
    made(ring, kCallMemCreate, 17, 20 * kMiB);
    ring.record({.kind = kOk,
                 .address = kSegmentAt,
                 .size = 20 * kMiB,
                 .extra = 17,
                 .call = kCallMemMap,
                 .library = 3});
    observe(ring, 900 * kMiB);
    CHECK(last_residual(ring).second == 104 * Int{kMiB});
    ring.alloc(kSegmentAt, kMiB);  // its report says that nothing is reserved, so what is held stays 0
    observe(ring, 900 * kMiB);
    CHECK(last_residual(ring).second == 124 * Int{kMiB});
}

TEST_CASE("physical memory that the allocator made is held while a reference lives and nothing maps it") {
    RingBuilder ring;
    auto rest = [&] {
        observe(ring, 900 * kMiB);
        return last_residual(ring).second;
    };
    u64 handle = made(ring, kCallMemCreate, 17, 20 * kMiB, kFromAllocator);
    CHECK(rest() == 104 * Int{kMiB});
    u64 retained = made(ring, 110, 17, 20 * kMiB, kFromAllocator);
    CHECK(rest() == 104 * Int{kMiB});
    u64 mapping = ring.record({.kind = kOk,
                               .flags = kFromAllocator,
                               .address = kSegmentAt,
                               .size = 20 * kMiB,
                               .extra = 17,
                               .call = kCallMemMap});
    CHECK(rest() == 104 * Int{kMiB});  // the mapping is a segment, and the memory is behind it
    freed(ring, 167, 17, 20 * kMiB, handle, kFromAllocator);
    freed(ring, 168, kSegmentAt, 20 * kMiB, mapping, kFromAllocator);
    CHECK(rest() == 104 * Int{kMiB});
    freed(ring, 167, 17, 20 * kMiB, retained, kFromAllocator);
    CHECK(rest() == 124 * Int{kMiB});
}

TEST_CASE("memory whose call did not know the device has that of the block in it, from then on") {
    RingBuilder ring;
    ring.record({.kind = kOk,
                 .flags = kFromAllocator,
                 .address = kSegmentAt,
                 .size = 20 * kMiB,
                 .device = -1,
                 .call = 1});
    observe(ring, 900 * kMiB);
    CHECK(last_residual(ring).second == 124 * Int{kMiB});
    ring.alloc(kSegmentAt, kMiB);
    observe(ring, 900 * kMiB);
    // The report itself says that nothing is reserved: its gap takes back what the segment adds.
    CHECK(last_residual(ring).second == 124 * Int{kMiB});
    auto file = decode(ring.bytes(), std::nullopt);
    auto scene = make_scene(recording_of_ring(*file));
    CHECK(scene.regions.sum(0, Status::kCandidate, 1) == 0);
    CHECK(scene.regions.sum(0, Status::kSegment, 2) == 20 * Int{kMiB});
}
