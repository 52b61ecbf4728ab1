// SPDX-License-Identifier: Apache-2.0
//
// Traces for Perfetto: slices nest whatever order ranges end in, and thinned counters keep their extremes.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "perfetto_lanes.h"
#include "perfetto_writer.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

// `B name` and `E` of each line.
template <class F>
std::string slices(F&& write) {
    std::string out;
    PerfettoWriter writer([&](std::string_view bytes) {
        out += bytes;
        return true;
    });
    write(writer);
    REQUIRE(writer.finish({9000}, {}));
    std::string text;
    for (size_t at = 0; (at = out.find("{\"ph\":\"", at)) != std::string::npos; ++at) {
        text += out[at + 7];
        const size_t name = out.find("\"name\":\"", at), end = out.find('\n', at);
        if (name < end) text += out[name + 8];
        text += ' ';
    }
    return text;
}

struct Peaks {
    std::vector<uint64_t> shown;
    uint64_t left_out_count = 0;
};

// Of `allocated`, with `pairs` blocks allocated and freed one after the other, one of them larger.
Peaks allocated_of(uint64_t pairs, uint64_t large_at) {
    RingWriter ring({.ring_records = 1 << 20, .table_entries = 64});
    ring.segment(kBase, 100 * kMiB);
    for (uint64_t pair = 0; pair < pairs; ++pair) {
        ring.block_alloc(kBase, pair == large_at ? 90 * kMiB : kMiB);
        ring.block_free(kBase);
    }
    const auto capture = read(ring);
    REQUIRE(capture);
    TrackPoints points(capture->window.events);
    TrackValues values;
    Peaks peaks;
    peaks.left_out_count = points.left_out_count();
    capture->window.events.for_each([&](const Event& event) {
        values.take(event, [&](Track track, uint64_t value) {
            if (points.shows(0, track) && track == Track::allocated) peaks.shown.push_back(value);
        });
        return true;
    });
    return peaks;
}

}  // namespace

TEST_CASE("slices that end in order are told as they are") {
    CHECK(slices([](PerfettoWriter& writer) {
              writer.slice_begins({1000}, 1, 1, "a");
              writer.slice_begins({2000}, 1, 2, "b");
              writer.slice_ends({3000}, 1, 2);
              writer.slice_ends({4000}, 1, 1);
              writer.slice_ends({4000}, 1, 7);
          }) == "Ba Bb E E ");
}

TEST_CASE("a slice that ends before those inside it cuts them in two") {
    CHECK(slices([](PerfettoWriter& writer) {
              writer.slice_begins({1000}, 1, 1, "a");
              writer.slice_begins({2000}, 1, 2, "b");
              writer.slice_begins({2000}, 1, 3, "c");
              writer.slice_ends({3000}, 1, 1);
              writer.slice_ends({4000}, 1, 3);
          }) == "Ba Bb Bc E E E Bb Bc E E ");
}

TEST_CASE("a slice with very many inside it lasts as long as they do") {
    const std::string told = slices([](PerfettoWriter& writer) {
        writer.slice_begins({1000}, 1, 1, "a");
        for (uint64_t id = 2; id < 30; ++id)
            writer.slice_begins({2000}, 1, id, "b");
        writer.slice_ends({3000}, 1, 1);
    });
    CHECK(std::ranges::count(told, 'B') == 29);
    CHECK(std::ranges::count(told, 'E') == 29);
}

TEST_CASE("times never go back, and are in microseconds") {
    std::string out;
    PerfettoWriter writer([&](std::string_view bytes) {
        out += bytes;
        return true;
    });
    writer.counter({2500}, 2, "allocated", 1);
    writer.counter({1000}, 2, "allocated", 2);
    writer.finish({0}, {});
    CHECK(out.find("\"ts\":2.500") != out.rfind("\"ts\":2.500"));
}

TEST_CASE("a counter below the limit shows every change") {
    const Peaks peaks = allocated_of(1000, 500);
    CHECK(peaks.shown.size() == 2000);
    CHECK(peaks.left_out_count == 0);
}

TEST_CASE("a counter above the limit keeps its peak, its first and its last point") {
    const Peaks peaks = allocated_of(220000, 123457);
    CHECK(peaks.shown.size() <= TrackPoints::kPoints_most + 2);
    CHECK(peaks.left_out_count == 440000 - peaks.shown.size());
    CHECK(std::ranges::count(peaks.shown, 90 * kMiB) == 1);
    CHECK(peaks.shown.front() == kMiB);
    CHECK(peaks.shown.back() == 0);
}
