// SPDX-License-Identifier: Apache-2.0
//
// Rings that somebody cut or flipped. Rule: an error or a document, never a crash; the seeds are fixed, so a
// failure can be seen again.
#include <random>

#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

bool has_a_known_exit(Bytes bytes) {
    auto result = examine(bytes);
    int code = result ? result->exit_code : result.error().exit_code;
    return code == 0 || code == 3 || code == 4 || code == 10 || code == 11;
}

}  // namespace

TEST_CASE("a ring cut anywhere ends in an error") {
    auto ring = small_failure();
    auto whole = ring.bytes();
    for (std::size_t size = 0; size < whole.size(); size += size < 1024 ? 7 : 4096) {
        auto result = examine(whole.subspan(0, size));
        REQUIRE_FALSE(result);
        CHECK((result.error().exit_code == kExitNotMemsnap || result.error().exit_code == kExitCorrupt));
    }
}

TEST_CASE("flipped bits end in an error or a document") {
    auto ring = small_failure();
    auto whole = ring.bytes();
    std::mt19937_64 random(1);
    for (int round = 0; round < 400; ++round) {
        std::vector<std::byte> bytes(whole.begin(), whole.end());
        for (int flip = 0; flip < 1 + round % 4; ++flip) {
            // Where something is written: the header, the first records, the first entries.
            constexpr std::array<u64, 3> kStarts{0, RingBuilder::kAlign, 2 * RingBuilder::kAlign};
            constexpr std::array<u64, 3> kSizes{768, 512, 128};
            auto where = random() % 3;
            bytes[kStarts[where] + random() % kSizes[where]] ^= static_cast<std::byte>(1U << random() % 8);
        }
        CHECK(has_a_known_exit(bytes));
    }
}

TEST_CASE("sealed records with any content end in an error or a document") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 300; ++round) {
        RingBuilder ring(32);
        ring.put(576, 1, 8);  // a lost event, so that rules are tolerated and the whole way is walked
        constexpr std::array<u8, 17> kKinds{1, 2, 3, 4, 17, 18, 19, 20, 21, 23, 48, 49, 51, 52, 53, 66, 71};
        constexpr std::array<u8, 8> kCalls{0, 1, 11, 32, 108, 109, 167, 168};
        for (int i = 0; i < 40; ++i) {
            auto wild = [&] { return random() % 8 == 0 ? random() : kSegmentAt + random() % 8 * kMiB; };
            ring.record({.kind = kKinds[random() % kKinds.size()],
                         .flags = static_cast<u8>(random()),
                         .thread = static_cast<u16>(random() % 3),
                         .time = random(),
                         .address = wild(),
                         .size = wild() % (u64{1} << (random() % 64)),
                         .link = random() % 2 == 0 ? random() % 40 : random(),
                         .allocated = random() % kGiB,
                         .reserved = random() % kGiB,
                         .extra = random() % 2 == 0 ? kSegmentAt : random(),
                         .device = static_cast<int>(random() % 3) - 1,
                         .call = kCalls[random() % kCalls.size()],
                         .library = static_cast<u16>(random() % 3),
                         .code = static_cast<u16>(random() % 4 < 3 ? random() % 2 * 2 : random() % 8)});
        }
        for (u64 index = 0; index < 8; ++index)
            ring.boundary(index, static_cast<u8>(random() % 7), random() % 48, random() % 48, random() % kGiB,
                          0, 0, static_cast<u8>(random() % 2));
        for (u64 slot = 0; slot < 4; ++slot)
            ring.entry(slot, random() % 2 == 0 ? kBlock : kDevice, kSegmentAt + slot * kMiB, kMiB,
                       random() % 40);
        CHECK(has_a_known_exit(ring.bytes()));
    }
}

TEST_CASE("a sidecar of any bytes ends in a document") {
    auto ring = small_failure();
    ring.put(320, 1, 4);
    std::mt19937_64 random(3);
    constexpr std::array<u8, 20> kBegin{0x89, 0x4D, 0x45, 0x4D, 0x4E, 0x41, 0x4D, 0x45, 1, 0,
                                        0,    0,    0x04, 0x03, 0x02, 0x01, 0,    0,    0, 0};
    for (int round = 0; round < 300; ++round) {
        std::vector<std::byte> bytes(random() % 400);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i < kBegin.size() ? kBegin[i]
                                              : i < 32          ? 0
                                              : random() % 4    ? random() % 40
                                                                : random());
        Options options;
        options.sidecar = bytes;
        CHECK(examine(ring.bytes(), options));
    }
}
