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
    const auto growing = [](const std::vector<uint64_t>& levels) {
        std::vector<MatchedPoint> points;
        for (const uint64_t level : levels)
            points.push_back({points.size(), level, 0, std::nullopt});
        return growing_pairs(points);
    };
    CHECK(growing({1, 2, 3, 4, 5, 6}) == 5);
    CHECK(growing({9, 1, 2, 3, 4, 5, 6}) == 5);
    CHECK(growing({1, 2, 2, 4, 5, 6}) == 4);
    CHECK(growing({1, 2, 2, 4, 4, 6}) == 3);
    CHECK(growing({5}) == 0);
    CHECK(growing({}) == 0);
}
