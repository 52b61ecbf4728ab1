// SPDX-License-Identifier: Apache-2.0
//
// The shapes of lanes, both sides of each rule. The card has 1,000,000 bytes, the threshold is 15,000.
#include "catch.h"
#include "shapes.h"

using namespace memsnap;

namespace {

Matched points(const std::vector<uint64_t>& active, const std::vector<uint64_t>& reserved = {},
               const std::vector<uint64_t>& device_free = {}) {
    Matched matched;
    matched.basis = GrowthBasis::marked;
    for (size_t index = 0; index < active.size(); ++index) {
        MatchedPoint point;
        point.ticket = index;
        point.active_bytes = active[index];
        point.reserved_bytes = reserved.empty() ? 500'000 : reserved[index];
        if (!device_free.empty()) point.device_free_bytes = device_free[index];
        matched.points.push_back(point);
    }
    return matched;
}

DeviceShapes shapes_of(const Matched& matched, const PinnedDevice& pinned = {}) {
    return find_shapes(0, matched, pinned, 1'000'000, false);
}

}  // namespace

TEST_CASE("active minima that rise by the threshold in all are a staircase") {
    CHECK(shapes_of(points({0, 3'000, 6'000, 9'000, 12'000, 15'000})).active.shape == Shape::staircase);
    CHECK(shapes_of(points({0, 3'000, 6'000, 9'000, 12'000, 14'999})).active.shape == Shape::flat);
    CHECK(shapes_of(points({0, 3'000, 6'000, 6'000, 12'000, 15'000})).active.shape == Shape::staircase);
    CHECK(shapes_of(points({0, 3'000, 6'000, 6'000, 6'000, 15'000})).active.shape == Shape::flat);
    CHECK(shapes_of(points({0, 3'000, 6'000, 9'000, 15'000})).active.shape == Shape::flat);
}

TEST_CASE("a maximum that came and went is a peak") {
    const Matched level = points({100'000, 100'000});
    PinnedDevice pinned;
    pinned.peak_allocated.emplace();
    pinned.peak_allocated->allocated_bytes = 115'000;
    CHECK(shapes_of(level, pinned).active.shape == Shape::peak);
    pinned.peak_allocated->allocated_bytes = 114'999;
    CHECK(shapes_of(level, pinned).active.shape == Shape::flat);
    pinned.peak_allocated->allocated_bytes = 130'000;
    CHECK(shapes_of(points({100'000, 115'000}), pinned).active.shape == Shape::flat);
    CHECK(shapes_of(points({100'001, 115'000}), pinned).active.shape == Shape::peak);
}

TEST_CASE("reserved that grows while active does not is reserved growth") {
    CHECK(shapes_of(points({0, 14'999}, {500'000, 515'000})).reserved.shape == Shape::reserved_growth);
    CHECK(shapes_of(points({0, 15'000}, {500'000, 515'000})).reserved.shape == Shape::flat);
    CHECK(shapes_of(points({0, 0}, {500'000, 514'999})).reserved.shape == Shape::flat);
}

TEST_CASE("outside that rises over three observations while reserved does not is a device rise") {
    CHECK(shapes_of(points({0, 0, 0}, {}, {400'000, 390'000, 385'000})).outside.shape == Shape::device_rise);
    CHECK(shapes_of(points({0, 0, 0}, {}, {400'000, 390'000, 385'001})).outside.shape == Shape::flat);
    CHECK(shapes_of(points({0, 0}, {}, {400'000, 385'000})).outside.shape == Shape::flat);
    CHECK(shapes_of(points({0, 0, 0}, {500'000, 500'000, 515'000}, {400'000, 390'000, 370'000}))
              .outside.shape == Shape::flat);
}

TEST_CASE("a lane without points or without the card's size has no shape") {
    CHECK(shapes_of(points({})).active.shape == Shape::unknown);
    CHECK(find_shapes(0, points({1, 2}), {}, std::nullopt, false).active.shape == Shape::unknown);
    CHECK(shapes_of(points({1, 2})).outside.shape == Shape::unknown);
}
