// SPDX-License-Identifier: Apache-2.0
//
// Segments and extents at an instant. Rule: asked through the documents' own functions, with sizes one unit
// apart where a bound decides.
#include "oracle/extents.h"
#include "catch.h"
#include "oracle/scene.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

Wanted wanted(Int request_bytes, bool private_pool_rule = false) {
    Wanted w;
    w.request_bytes = request_bytes;
    w.private_pool_rule = private_pool_rule;
    return w;
}

struct At {
    File file;
    Scene scene;
    DeviceState state;

    explicit At(const RingBuilder& ring, const Wanted& what = wanted(4 * kMiB)) {
        auto decoded = decode(ring.bytes(), std::nullopt);
        REQUIRE(decoded);
        file = *decoded;
        scene = make_scene(recording_of_ring(file));
        state = state_at(scene.recording, scene.lives, scene.regions, 0, ring.head() - 1, what);
    }
    At(const At&) = delete;
    At& operator=(const At&) = delete;
    std::vector<u64> free_sizes() const {
        std::vector<u64> sizes;
        for (const auto& extent : state.extents) {
            if (extent.state == ExtentState::kFree) sizes.push_back(extent.size());
        }
        return sizes;
    }
};

void map(RingBuilder& ring, u64 address, u64 size) {
    ring.record({.kind = kOk,
                 .flags = kFromAllocator,
                 .address = address,
                 .size = size,
                 .extra = 1,
                 .call = kCallMemMap});
}

}  // namespace

TEST_CASE("what no block covers is free, in one piece between neighbours") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    u64 a = ring.alloc(kSegmentAt, 2 * kMiB);
    u64 b = ring.alloc(kSegmentAt + 2 * kMiB, 2 * kMiB);
    ring.alloc(kSegmentAt + 4 * kMiB, 2 * kMiB);
    ring.free(kSegmentAt, 2 * kMiB, a);
    ring.free(kSegmentAt + 2 * kMiB, 2 * kMiB, b);
    At at(ring);
    CHECK(at.free_sizes() == std::vector<u64>{4 * kMiB, 14 * kMiB});
}

TEST_CASE("a native segment of exactly 2 MiB is small until a larger block starts in it") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 2 * kMiB);
    u64 a = ring.alloc(kSegmentAt, kMiB);
    ring.free(kSegmentAt, kMiB, a);
    CHECK(At(ring).state.segments.at(0).size_class == SizeClass::kSmall);
    u64 b = ring.alloc(kSegmentAt, kMiB + 512);
    ring.free(kSegmentAt, kMiB + 512, b);
    CHECK(At(ring).state.segments.at(0).size_class == SizeClass::kLarge);
}

TEST_CASE("a request of 1 MiB looks for small segments, one granule more for large ones") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    CHECK(At(ring, wanted(kMiB)).state.extents.back().compatibility == Compatibility::kIncompatible);
    CHECK(At(ring, wanted(kMiB + 512)).state.extents.back().compatibility == Compatibility::kUnknown);
}

TEST_CASE(
    "a wholly free native segment of unknown pool is no candidate where the operation gave back the others") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    u64 a = ring.alloc(kSegmentAt, 2 * kMiB);
    ring.free(kSegmentAt, 2 * kMiB, a);
    CHECK(At(ring, wanted(4 * kMiB, true)).state.extents.at(0).compatibility == Compatibility::kIncompatible);
    CHECK(At(ring, wanted(4 * kMiB)).state.extents.at(0).compatibility == Compatibility::kUnknown);
    CHECK(releasable_bytes(At(ring).state) == 20 * kMiB);
}

TEST_CASE("contiguous mappings are one expandable segment and give back whole granules") {
    RingBuilder ring;
    for (u64 page = 0; page < 3; ++page)
        map(ring, kSegmentAt + page * 20 * kMiB, 20 * kMiB);
    map(ring, kSegmentAt + 80 * kMiB, 20 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    At at(ring);
    REQUIRE(at.state.segments.size() == 2);
    CHECK(at.state.segments[0].expandable);
    CHECK(at.state.segments[0].end == kSegmentAt + 60 * kMiB);
    CHECK(releasable_bytes(at.state) == 60 * kMiB);
}

TEST_CASE("a candidate becomes a segment when the reported total needs it") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.segment(kSegmentAt + kGiB, 40 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    At at(ring);
    CHECK(at.state.segments.size() == 2);
}

TEST_CASE("a candidate that the reported total leaves no room for is a tensor of its own") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    ring.alloc(kSegmentAt, 2 * kMiB);
    ring.record(
        {.kind = kOk, .flags = kFromAllocator, .address = kSegmentAt + kGiB, .size = 40 * kMiB, .call = 1});
    ring.alloc(kSegmentAt + 2 * kMiB, 2 * kMiB);
    At at(ring);
    CHECK(at.state.segments.size() == 1);
    CHECK(at.scene.regions.sum(0, Status::kDirect, ring.head() - 1) == 40 * kMiB);
}

TEST_CASE("a block is deferred between its free and the completion of it") {
    RingBuilder ring;
    ring.segment(kSegmentAt, 20 * kMiB);
    u64 a = ring.alloc(kSegmentAt, 2 * kMiB);
    ring.alloc(kSegmentAt + 2 * kMiB, 2 * kMiB);
    ring.record({.kind = kTapFreeRequested, .address = kSegmentAt, .size = 2 * kMiB});
    ring.free(kSegmentAt, 2 * kMiB, a);
    At before(ring);
    CHECK(before.state.deferred.size() == 1);
    CHECK(before.state.extents.at(0).state == ExtentState::kDeferred);
    ring.record({.kind = kTapFreeCompleted, .address = kSegmentAt, .size = 2 * kMiB});
    At after(ring);
    CHECK(after.state.deferred.empty());
    CHECK(after.free_sizes().front() == 2 * kMiB);
}
