// SPDX-License-Identifier: Apache-2.0
//
// Addresses on the page: order and distances stay, where they were does not.
#include "page_places.h"

#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr uint64_t kUnit_bytes = uint64_t{2} << 20;

// Addresses of the window's births, by ticket.
std::vector<uint64_t> born_at(const Window& window, Kind kind) {
    std::vector<uint64_t> addresses;
    window.events.for_each([&](const Event& event) {
        if (event.kind == kind) addresses.push_back(event.address);
        return true;
    });
    return addresses;
}

}  // namespace

TEST_CASE("what lay in one segment lies at the same distances, and segments apart from each other") {
    const Recording recording(R"(memsnap-events 1
segment s1 40MiB
segment s2 20MiB
alloc a s1+0 10MiB site=1
alloc b s1+10MiB 8MiB site=1
alloc c s2+512 1MiB site=1
)");
    const Window& window = recording.capture->window;
    const PagePlaces places(window);
    const auto segments = born_at(window, Kind::ok);
    const auto blocks = born_at(window, Kind::block_alloc);
    const auto place = [&](uint64_t address) { return *places.of(address); };
    REQUIRE(segments.size() == 2);
    CHECK(place(blocks[0]) == place(segments[0]));
    CHECK(place(blocks[1]) - place(blocks[0]) == 10 * kMiB);
    CHECK(place(blocks[2]) - place(segments[1]) == 512);
    for (const uint64_t segment : segments)
        CHECK(place(segment) % kUnit_bytes == 0);
    const Wide between = place(segments[1]) - place(segments[0]);
    CHECK((segments[1] > segments[0] ? between >= 40 * kMiB + kUnit_bytes
                                     : -between >= 20 * kMiB + kUnit_bytes));
}

TEST_CASE("no address is a place, and an address in no range has none") {
    const Recording recording("memsnap-events 1\nsegment s1 40MiB\nalloc a s1+0 10MiB site=1\n");
    const Window& window = recording.capture->window;
    const PagePlaces places(window);
    const uint64_t segment = born_at(window, Kind::ok).at(0);
    CHECK(*places.of(segment) != segment);
    CHECK(places.of(segment + 40 * kMiB - 1));
    CHECK_FALSE(places.of(segment + 40 * kMiB));
    CHECK_FALSE(places.of(segment - 1));
    CHECK_FALSE(places.of(0));
}
