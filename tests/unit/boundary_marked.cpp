// SPDX-License-Identifier: Apache-2.0
//
// Which marked boundaries are the same point of two steps.
#include "boundary.h"
#include "catch.h"

using namespace memsnap;

namespace {

Boundary boundary(BoundaryFamily family, uint64_t ticket, uint64_t allocated = 1000) {
    Boundary it;
    it.family = family;
    it.ticket = ticket;
    it.opened_ticket = ticket - 5;
    it.allocated_bytes = allocated;
    it.device = 0;
    it.thread = 1;
    return it;
}

std::vector<Boundary> row(BoundaryFamily family, uint64_t count, uint64_t first_ticket) {
    std::vector<Boundary> boundaries;
    for (uint64_t index = 0; index < count; ++index) {
        boundaries.push_back(boundary(family, first_ticket + 10 * index));
    }
    return boundaries;
}

void add(std::vector<Boundary>& to, std::vector<Boundary> more) {
    to.insert(to.end(), more.begin(), more.end());
}

uint64_t growing(const std::vector<uint64_t>& levels) {
    std::vector<MatchedPoint> points;
    for (const uint64_t level : levels)
        points.push_back({points.size(), level, 0, std::nullopt});
    return growing_pairs(points);
}

// As many levels, each as high as it is old, rounded down to whole periods.
std::vector<uint64_t> rising_every(uint64_t period, uint64_t count) {
    std::vector<uint64_t> levels;
    for (uint64_t index = 0; index < count; ++index)
        levels.push_back(index / period);
    return levels;
}

}  // namespace

TEST_CASE("the first family with six boundaries is taken") {
    std::vector<Boundary> boundaries = row(BoundaryFamily::optimizer, 6, 100);
    add(boundaries, row(BoundaryFamily::step, 5, 101));
    CHECK(marked_boundaries(boundaries, 0, 1000).family == BoundaryFamily::optimizer);
    add(boundaries, {boundary(BoundaryFamily::step, 500)});
    const Matched steps = marked_boundaries(boundaries, 0, 1000);
    CHECK(steps.family == BoundaryFamily::step);
    CHECK(steps.basis == GrowthBasis::marked);
    CHECK(steps.points.size() == 6);
    CHECK(marked_boundaries(boundaries, 0, 499).family == BoundaryFamily::optimizer);
    CHECK(marked_boundaries(boundaries, 1, 1000).points.empty());
}

TEST_CASE("with fewer than six the family that has most is kept as too few") {
    std::vector<Boundary> boundaries = row(BoundaryFamily::step, 2, 100);
    add(boundaries, row(BoundaryFamily::range, 5, 101));
    const Matched matched = marked_boundaries(boundaries, 0, 1000);
    CHECK(matched.basis == GrowthBasis::too_few);
    CHECK(matched.family == BoundaryFamily::range);
    CHECK(matched.points.size() == 5);
}

TEST_CASE("ranges count at depth 0, on the thread whose ranges cover most, by folded name") {
    std::vector<Boundary> boundaries = row(BoundaryFamily::range, 7, 100);
    for (Boundary& range : boundaries)
        range.folded_name = 3;
    std::vector<Boundary> inner = row(BoundaryFamily::range, 9, 103);
    for (Boundary& range : inner)
        range.depth = 1;
    std::vector<Boundary> elsewhere = row(BoundaryFamily::range, 9, 104);
    for (Boundary& range : elsewhere) {
        range.thread = 2;
        range.opened_ticket = range.ticket - 1;
    }
    std::vector<Boundary> other_name = row(BoundaryFamily::range, 6, 105);
    for (Boundary& range : other_name)
        range.folded_name = 4;
    add(boundaries, inner);
    add(boundaries, elsewhere);
    add(boundaries, other_name);
    const Matched matched = marked_boundaries(boundaries, 0, 1000);
    REQUIRE(matched.points.size() == 7);
    CHECK(matched.points.front().ticket == 100);
}

TEST_CASE("boundaries with other noted dimensions are not the same point") {
    std::vector<Boundary> boundaries = row(BoundaryFamily::step, 12, 100);
    for (size_t index = 0; index < boundaries.size(); ++index)
        boundaries[index].dimensions = index < 5 ? 8 : 9;
    const Matched matched = marked_boundaries(boundaries, 0, 1000);
    CHECK(matched.points.size() == 7);
    CHECK(matched.points.front().ticket == 150);
}

TEST_CASE("growth is strict, over the last five pairs") {
    CHECK(growing({1, 2, 3, 4, 5, 6}) == 5);
    CHECK(growing({9, 1, 2, 3, 4, 5, 6}) == 5);
    CHECK(growing({1, 2, 2, 4, 5, 6}) == 4);
    CHECK(growing({1, 2, 2, 4, 4, 6}) == 3);
    CHECK(growing({5}) == 0);
    CHECK(growing({}) == 0);
}

TEST_CASE("a rise in every second step shows in spaced pairs, from 21 points on") {
    CHECK(growing(rising_every(2, 20)) == 2);
    CHECK(growing(rising_every(2, 21)) == 5);
    CHECK(growing(rising_every(2, 22)) == 5);
}

TEST_CASE("pairs are an eighth of the points apart, from the last one back") {
    CHECK(pair_spacing(1) == 1);
    CHECK(pair_spacing(20) == 1);
    CHECK(pair_spacing(24) == 2);
    CHECK(pair_spacing(25) == 3);
    // Of every fourth step four times in the last fifteen, of every fifth three times.
    CHECK(growing(rising_every(4, 25)) == 4);
    CHECK(growing(rising_every(5, 25)) == 3);
}

TEST_CASE("of consecutive and spaced pairs those count of which more grow") {
    std::vector<uint64_t> late(25, 7);
    for (uint64_t back = 0; back < 5; ++back)
        late[24 - back] = 20 - back;
    CHECK(growing(late) == 5);
    late[20] = 7;
    late[21] = 7;
    CHECK(growing(late) == 3);
    std::vector<uint64_t> falling = rising_every(1, 25);
    falling[0] = falling[3] = falling[6] = 0;
    CHECK(growing(falling) == 5);
    falling[24] = falling[21];
    falling[23] = falling[22];
    CHECK(growing(falling) == 4);
}
