// SPDX-License-Identifier: Apache-2.0
//
// The extent table and compatibility with a request.
#include "extent.h"

#include <cstring>

#include "catch.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string rows(const std::vector<Extent>& table) {
    std::string text;
    for (const Extent& row : table) {
        text += std::to_string(row.segment_ordinal) + ":" + std::to_string(row.offset_bytes / kMiB) + "+" +
                std::to_string(row.size_bytes / kMiB) +
                (row.live           ? "L"
                 : row.deferred     ? "D"
                 : row.segment_free ? "W"
                                    : "F") +
                " ";
    }
    return text;
}

}  // namespace

TEST_CASE("the extent table covers each segment exactly once, in order") {
    RingWriter ring;
    ring.segment(kBase + 100 * kMiB, 20 * kMiB);
    ring.segment(kBase, 20 * kMiB);
    ring.segment(kBase + 200 * kMiB, 30 * kMiB, 1);
    const uint64_t born = ring.block_alloc(kBase + 4 * kMiB, 4 * kMiB);
    ring.block_alloc(kBase + 8 * kMiB, 2 * kMiB);
    ring.block_alloc(kBase + 19 * kMiB, kMiB);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const auto table = extent_table(*result.ledger, 0);
    CHECK(rows(table) == "0:0+4F 0:4+4L 0:8+2L 0:10+9F 0:19+1L 1:0+20W ");
    CHECK(table[1].birth_ticket == born);
    CHECK(table[0].segment_bytes == 20 * kMiB);
    CHECK(extent_table(*result.ledger, 1).empty());  // a candidate is no slack
}

TEST_CASE("ranges that wait for a deferred free are neither live nor free") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, 4 * kMiB);
    wire::Record record = {};
    record.kind = wire::Kind::tap_free_requested;
    record.address = kBase;
    ring.record(record);
    ring.block_free(kBase);
    CHECK(rows(extent_table(*replayed(ring).ledger, 0)) == "0:0+4D 0:4+16F ");
}

TEST_CASE("small and large requests do not share segments; what is not known is unknown") {
    RingWriter ring;
    ring.segment(kBase, 2 * kMiB);
    ring.segment(kBase + 100 * kMiB, 20 * kMiB);
    ring.block_alloc(kBase, 512);
    ring.block_alloc(kBase + 100 * kMiB, 4 * kMiB);
    const auto table = extent_table(*replayed(ring).ledger, 0);
    REQUIRE(table.size() == 4);
    const ExtentRequest small{.size_bytes = kMiB, .stream = {}, .pool = {}};
    const ExtentRequest large{.size_bytes = kMiB + 512, .stream = {}, .pool = {}};
    CHECK(table[1].size_class == SizeClass::small);
    CHECK(table[3].size_class == SizeClass::large);
    CHECK(compatibility(table[1], small) == Compatibility::unknown);
    CHECK(compatibility(table[1], large) == Compatibility::incompatible);
    CHECK(compatibility(table[3], small) == Compatibility::incompatible);
    CHECK(compatibility(table[3], large) == Compatibility::unknown);
}

TEST_CASE("another stream or pool is incompatible, the same ones compatible") {
    Extent extent;
    extent.size_class = SizeClass::large;
    extent.stream = 7;
    extent.pool = 0;
    ExtentRequest request{.size_bytes = 4 * kMiB, .stream = 7, .pool = 0};
    CHECK(compatibility(extent, request) == Compatibility::compatible);
    request.stream = 8;
    CHECK(compatibility(extent, request) == Compatibility::incompatible);
    request.stream = 7;
    request.pool = 1;
    CHECK(compatibility(extent, request) == Compatibility::incompatible);
    request.pool.reset();
    CHECK(compatibility(extent, request) == Compatibility::unknown);
}

TEST_CASE("a pool without a number is not known, its stream is") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    wire::Record record = {};
    record.kind = wire::Kind::tap_segment_alloc;
    record.address = kBase;
    record.size = 20 * kMiB;
    const uint64_t stream = 3;
    const uint16_t pool = wire::kPoolUnknown;
    std::memcpy(record.tail, &stream, 8);
    std::memcpy(record.tail + 8, &pool, 2);
    ring.record(record);
    const auto table = extent_table(*replayed(ring).ledger, 0);
    REQUIRE(table.size() == 1);
    CHECK(table[0].stream == uint64_t{3});
    CHECK(!table[0].pool);
}

TEST_CASE("pages of an expandable segment tell its size class") {
    for (const auto& [page_bytes, expected] :
         {std::pair(2 * kMiB, SizeClass::small), std::pair(20 * kMiB, SizeClass::large),
          std::pair(4 * kMiB, SizeClass::unknown)}) {
        RingWriter ring;
        ring.torch_call(wire::Op::cuMemCreate, 1, page_bytes);
        ring.torch_call(wire::Op::cuMemMap, kBase, page_bytes, 0, 1);
        CHECK(extent_table(*replayed(ring).ledger, 0).at(0).size_class == expected);
    }
}

TEST_CASE("what torch asks the driver for, on both sides of each step") {
    CHECK(allocation_size_bytes(512) == 2 * kMiB);
    CHECK(allocation_size_bytes(kMiB) == 2 * kMiB);
    CHECK(allocation_size_bytes(kMiB + 512) == 20 * kMiB);
    CHECK(allocation_size_bytes(10 * kMiB - 512) == 20 * kMiB);
    CHECK(allocation_size_bytes(10 * kMiB) == 10 * kMiB);
    CHECK(allocation_size_bytes(10 * kMiB + 512) == 12 * kMiB);
    CHECK(allocation_size_bytes(~uint64_t{0}) == ~uint64_t{0});
}
