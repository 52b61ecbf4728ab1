// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "catch.h"
#include "live_ranges.h"

using memsnap_tap::LiveRanges;
using memsnap_tap::Range;

namespace {

using Told = std::tuple<uint64_t, uint64_t, uint64_t>;  // address, bytes, stream

std::vector<Told> told(const LiveRanges& ranges) {
    std::vector<Told> all;
    for (const Range& range : ranges)
        all.emplace_back(range.address, range.size_bytes, range.stream);
    return all;
}

Range page(uint64_t address, uint64_t size_bytes = 10, uint64_t stream = 0, uint16_t pool = 0) {
    return {address, size_bytes, stream, pool, true};
}

}  // namespace

TEST_CASE("contiguous pages of one stream and pool are one range, whichever came first") {
    auto ranges = std::make_unique<LiveRanges>();
    ranges->add(page(100));
    ranges->add(page(120));
    ranges->add(page(110));
    REQUIRE(told(*ranges) == std::vector<Told>{{100, 30, 0}});
}

TEST_CASE("pages of another stream or pool, and segments of their own, stay apart") {
    auto ranges = std::make_unique<LiveRanges>();
    ranges->add(page(100));
    ranges->add(page(110, 10, 7));
    ranges->add(page(120, 10, 7, 1));
    ranges->add({130, 10, 7, 1, false});
    ranges->add({140, 10, 7, 1, false});
    REQUIRE(told(*ranges) ==
            std::vector<Told>{{100, 10, 0}, {110, 10, 7}, {120, 10, 7}, {130, 10, 7}, {140, 10, 7}});
}

TEST_CASE("a page that goes from the middle of a range leaves two") {
    auto ranges = std::make_unique<LiveRanges>();
    ranges->add(page(100, 50));
    ranges->take_away(120, 10);
    REQUIRE(told(*ranges) == std::vector<Told>{{100, 20, 0}, {130, 20, 0}});
}

TEST_CASE("what was never there can go") {
    auto ranges = std::make_unique<LiveRanges>();
    ranges->add(page(100));
    ranges->take_away(200, 10);
    ranges->take_away(50, 10);
    REQUIRE(told(*ranges) == std::vector<Told>{{100, 10, 0}});
}

TEST_CASE("one range more than there is place for is told as an overflow, and the others stay") {
    auto ranges = std::make_unique<LiveRanges>();
    for (uint64_t i = 0; i < LiveRanges::kCapacity; ++i)
        ranges->add(page(i * 100));
    REQUIRE_FALSE(ranges->overflowed());
    ranges->add(page(LiveRanges::kCapacity * 100));
    REQUIRE(ranges->overflowed());
    REQUIRE(ranges->end() - ranges->begin() == LiveRanges::kCapacity);
    ranges->clear();
    REQUIRE_FALSE(ranges->overflowed());
}

TEST_CASE("whatever is mapped and unmapped, the ranges are the pages that are there") {
    constexpr uint64_t kPages = 64;
    auto ranges = std::make_unique<LiveRanges>();
    std::array<std::optional<uint64_t>, kPages> streams;  // the model: of each page that is there
    std::mt19937 random(11);
    for (int step = 0; step < 5000; ++step) {
        const uint64_t first = random() % kPages;
        const uint64_t count = 1 + random() % std::min<uint64_t>(6, kPages - first);
        bool is_free = true;
        for (uint64_t i = first; i < first + count; ++i)
            is_free = is_free && !streams[i];
        if (is_free) {
            const uint64_t stream = random() % 2;
            ranges->add(page(1000 + first, count, stream));
            for (uint64_t i = first; i < first + count; ++i)
                streams[i] = stream;
        } else {
            ranges->take_away(1000 + first, count);
            for (uint64_t i = first; i < first + count; ++i)
                streams[i].reset();
        }
        std::vector<Told> expected;
        for (uint64_t i = 0; i < kPages; ++i) {
            if (!streams[i]) continue;
            if (i > 0 && streams[i - 1] == streams[i]) {
                ++std::get<1>(expected.back());
            } else {
                expected.emplace_back(1000 + i, 1, *streams[i]);
            }
        }
        REQUIRE(told(*ranges) == expected);
    }
}
