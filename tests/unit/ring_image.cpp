// SPDX-License-Identifier: Apache-2.0
//
// A ring image is read as a ring that lost nothing: its records, live table, pinned copies and boundaries fit
// each other, and its names are those that were given.
#include "../../snapshot/ring_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <unordered_set>

#include "../../snapshot/seeded_hash.h"
#include "catch.h"
#include "names.h"
#include "reader_names.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;
using snapshot::kHostMemory;
using snapshot::Moment;
using snapshot::RingImage;

namespace {

constexpr std::array<uint8_t, 16> kId = {7, 1};

struct Image {
    RingImage image{wire::Origin::torch_snapshot, kId};
    Folder folder;

    Capture capture() {
        const auto create = [](const std::string& path) {
            return ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        };
        const int ring = create(folder.file("ring.bin")), names = create(folder.file("ring.bin.names"));
        const bool written = image.write(ring, names).has_value();
        ::close(ring);
        ::close(names);
        REQUIRE(written);
        auto read = Capture::read(folder.file("ring.bin"));
        REQUIRE(read);
        return std::move(*read);
    }
};

Ledger replayed(const Capture& capture) {
    Ledger ledger(capture.window);
    const auto outcome =
        replay(capture, capture.window, ledger, [](const Event&, const Ledger&, const Change&) {});
    REQUIRE(outcome);
    for (const Rule rule :
         {Rule::table_end, Rule::object_end, Rule::totals_allocated, Rule::object_unmatched})
        CHECK(outcome->tolerated_count(rule) == 0);
    return ledger;
}

std::vector<Kind> kinds(const Capture& capture) {
    std::vector<Kind> found;
    capture.window.events.for_each([&](const Event& event) {
        found.push_back(event.kind);
        return true;
    });
    return found;
}

}  // namespace

TEST_CASE("an empty image is a recording without events") {
    Image it;
    const Capture capture = it.capture();
    CHECK(kinds(capture).empty());
    CHECK(capture.header.ring_id == kId);
    CHECK(capture.header.start_mode == StartMode::late);
    CHECK_FALSE(capture.realtime_ns(5));
}

TEST_CASE("what was there, what came and what went is live at the end, whatever its kind") {
    Image it;
    RingImage& image = it.image;
    image.initial_pages({0, 100, 0}, kBase + 80 * kMiB, 40 * kMiB, 20 * kMiB);
    image.initial_segment({0, 100, 0}, kBase, 20 * kMiB);
    image.initial_block({0, 100, 0}, kBase, 3 * kMiB);
    image.initial_host({kHostMemory, 100, 0}, 0x1000, 4096);
    image.segment_alloc({1, 110, 0}, kBase + 400 * kMiB, 2 * kMiB);
    image.block_alloc({1, 120, 0}, kBase + 400 * kMiB, 512);
    image.block_alloc({0, 130, 0}, kBase + 3 * kMiB, kMiB);
    image.block_free({0, 140, 0}, kBase, 3 * kMiB);
    image.unmap_pages({0, 150, 0}, kBase + 80 * kMiB, 20 * kMiB);
    image.map_pages({0, 160, 0}, kBase + 120 * kMiB, 20 * kMiB, 20 * kMiB);
    image.host_alloc({kHostMemory, 170, 0}, 0x2000, 8192);
    image.host_free({kHostMemory, 180, 0}, 0x1000);
    CHECK(image.allocated_bytes(0) == kMiB);
    CHECK(image.reserved_bytes(0) == 60 * kMiB);
    CHECK(image.granted_bytes(0, kBase + 3 * kMiB) == kMiB);
    CHECK_FALSE(image.granted_bytes(0, kBase));

    const Capture capture = it.capture();
    const Ledger ledger = replayed(capture);
    CHECK(ledger.device(0).allocated_bytes == kMiB);
    CHECK(ledger.device(0).segment_bytes == 60 * kMiB);
    CHECK(ledger.device(1).allocated_bytes == 512);
    CHECK(capture.realtime_ns(140) == 140);
    CHECK(capture.window.facts.is_uncertain(Uncertainty::late_start));
}

TEST_CASE("a free of a block that nobody told of is counted and ends nothing") {
    Image it;
    it.image.block_free({0, 1, 0}, kBase, 512);
    it.image.segment_free({0, 1, 0}, kBase);
    it.image.host_free({kHostMemory, 1, 0}, kBase);
    const Capture capture = it.capture();
    CHECK(kinds(capture) == std::vector{Kind::block_free});
    CHECK(capture.header.counters.unknown_frees == 1);
}

TEST_CASE("an address that is allocated twice is the younger block's") {
    Image it;
    it.image.block_alloc({0, 1, 0}, kBase, 4 * kMiB);
    it.image.block_alloc({0, 2, 0}, kBase, kMiB);
    CHECK(it.image.allocated_bytes(0) == kMiB);
    CHECK(it.image.granted_bytes(0, kBase) == kMiB);
    const Capture capture = it.capture();
    Event report;
    REQUIRE(capture.window.events.read(1, report));
    CHECK(report.allocated_bytes == kMiB);
}

TEST_CASE("records fill several pieces and as many slots") {
    Image it;
    constexpr uint64_t kRounds = 30000;
    for (uint64_t round = 0; round < kRounds; ++round) {
        it.image.block_alloc({0, round + 1, 0}, kBase, 512);
        it.image.block_free({0, round + 1, 0}, kBase, 512);
    }
    const Capture capture = it.capture();
    CHECK(capture.header.head_ticket == 2 * kRounds);
    CHECK(capture.header.ring_capacity_records == 2 * kRounds);
    CHECK(kinds(capture).size() == 2 * kRounds);
    CHECK(replayed(capture).device(0).allocated_bytes == 0);
}

TEST_CASE("each failure has an operation of its own, with the observation that was made for it") {
    Image it;
    it.image.block_alloc({0, 1, 0}, kBase, kMiB);
    it.image.failing_observation({0, 2, 0}, 80 * kMiB, 5 * kMiB);
    it.image.oom({0, 3, 0}, 100 * kMiB);
    it.image.oom({0, 4, 0}, 200 * kMiB);
    const Capture capture = it.capture();
    CHECK(kinds(capture) == std::vector{Kind::block_alloc, Kind::mem_info, Kind::operation, Kind::block_oom,
                                        Kind::operation, Kind::block_oom});
    Event first, second;
    REQUIRE(capture.window.events.read(2, first));
    REQUIRE(capture.window.events.read(4, second));
    CHECK(first.extra == 1);
    CHECK(second.extra == kNoTicket);
    CHECK(capture.header.failure_count == 2);
}

TEST_CASE("first report, peaks and observations are pinned") {
    Image it;
    it.image.observation({0, 1, 0}, 80 * kMiB, 79 * kMiB);
    it.image.block_alloc({0, 2, 0}, kBase, 8 * kMiB);
    it.image.observation({0, 3, 0}, 80 * kMiB, 40 * kMiB);
    it.image.block_free({0, 4, 0}, kBase, 8 * kMiB);
    it.image.block_alloc({0, 5, 0}, kBase, kMiB);
    it.image.observation({0, 6, 0}, 80 * kMiB, 60 * kMiB);
    const Capture capture = it.capture();
    const PinnedDevice& pinned = capture.pinned[0];
    CHECK(pinned.first_report->ticket == 1);
    CHECK(pinned.peak_allocated->ticket == 1);
    CHECK(pinned.first_observation->ticket == 2);
    CHECK(pinned.peak_outside->ticket == 2);
    CHECK(pinned.last_observation->ticket == 5);
}

TEST_CASE("the end of a range is a boundary of the devices that reported, labels make none") {
    Image it;
    const uint64_t outer = it.image.range_begin({0, 1, 0}, "epoch 3", wire::Family::range);
    const uint64_t label = it.image.range_begin({0, 2, 0}, "warm", wire::Family::none);
    const uint64_t inner = it.image.range_begin({0, 3, 0}, "step 12", wire::Family::range);
    it.image.block_alloc({0, 4, 0}, kBase, kMiB);
    it.image.range_end({0, 5, 0}, inner);
    it.image.range_end({0, 6, 0}, label);
    it.image.range_end({0, 7, 0}, outer);
    it.image.range_end({0, 8, 0}, outer);  // ended already: nothing
    const Capture capture = it.capture();
    REQUIRE(capture.boundaries.size() == 2);
    CHECK(capture.boundaries[0].depth == 1);
    CHECK(capture.boundaries[1].depth == 0);
    CHECK(capture.boundaries[0].ordinal == 0);
    CHECK(capture.boundaries[1].ordinal == 1);
    CHECK(capture.boundaries[0].allocated_bytes == kMiB);
    const Names names = read_names(capture);
    CHECK(*names.text(capture.boundaries[0].exact_name) == "step 12");
    CHECK(*names.text(capture.boundaries[0].folded_name) == "step #");
    CHECK(kinds(capture).size() == 7);
}

TEST_CASE("a range inside more open ones than any program has is left out and ends nothing") {
    Image it;
    it.image.block_alloc({0, 1, 0}, kBase, kMiB);
    std::vector<uint64_t> ranges(snapshot::kOpenRanges_most + 2);
    for (uint64_t& range : ranges)
        range = it.image.range_begin({0, 2, 0}, "deep", wire::Family::range);
    CHECK(it.image.left_out_range_count() == 2);
    it.image.range_end({0, 3, 0}, ranges.back());
    it.image.range_end({0, 3, 0}, ranges[1]);
    it.image.range_end({0, 3, 0}, ranges[2]);
    it.image.range_end({0, 3, 0}, ranges[0]);
    const Capture capture = it.capture();
    REQUIRE(capture.boundaries.size() == 3);
    CHECK(capture.boundaries[0].depth == 1);
    CHECK(capture.boundaries[1].depth == 1);
    CHECK(capture.boundaries[2].depth == 0);
}

TEST_CASE("names are one where what is kept of them is, whatever stood before") {
    Image it;
    const std::string kept(1023, 'k');
    CHECK(it.image.name("one" + kept) == it.image.name("another" + kept));
    it.image.block_alloc({0, 1, 0}, kBase, kMiB);
    it.image.range_end({0, 3, 0}, it.image.range_begin({0, 2, 0}, "12" + kept, wire::Family::range));
    const Capture capture = it.capture();
    REQUIRE(capture.boundaries.size() == 1);
    CHECK(capture.boundaries[0].folded_name == capture.boundaries[0].exact_name);
}

TEST_CASE("numbers that were chosen for a table's size do not meet in one place") {
    std::unordered_set<uint64_t, snapshot::SeededHash> table;
    table.reserve(1000);
    const uint64_t step = table.bucket_count();
    for (uint64_t at = 0; at < 1000; ++at)
        table.insert(at * step);
    size_t longest = 0;
    for (size_t bucket = 0; bucket < table.bucket_count(); ++bucket)
        longest = std::max(longest, table.bucket_size(bucket));
    CHECK(longest < 50);
}

TEST_CASE("equal stacks are one site, written once, with their files and lines") {
    Image it;
    snapshot::Texts texts;
    const snapshot::Frame inner = {texts.add("/job/model.py"), texts.add("forward"), 12};
    const snapshot::Frame outer = {texts.add("/job/main.py"), texts.add("main"), 3};
    const uint64_t site = it.image.site(texts, {inner, outer});
    CHECK(site != 0);
    CHECK(it.image.site(texts, {inner, outer}) == site);
    CHECK(it.image.site(texts, {outer, inner}) != site);
    CHECK(it.image.site(texts, {}) == 0);
    snapshot::Texts others;
    others.add("something first");
    const snapshot::Frame same_inner = {others.add("/job/model.py"), others.add("forward"), 12};
    const snapshot::Frame same_outer = {others.add("/job/main.py"), others.add("main"), 3};
    CHECK(it.image.site(others, {same_inner, same_outer}) == site);
    it.image.block_alloc({0, 1, site}, kBase, 512);
    it.image.block_alloc({0, 2, 0}, kBase + 512, 512);
    const Capture capture = it.capture();
    CHECK(capture.header.counters.no_stack == 1);
    CHECK(read_names(capture).problem.empty());
}

TEST_CASE("the same events give the same bytes") {
    const auto bytes = [] {
        Image it;
        snapshot::Texts texts;
        const snapshot::Frame frame = {texts.add("a.py"), texts.add("f"), 1};
        it.image.block_alloc({0, 1, it.image.site(texts, {frame})}, kBase, 512);
        it.image.range_end({0, 3, 0}, it.image.range_begin({0, 2, 0}, "x", wire::Family::range));
        it.capture();
        std::string both;
        for (const char* const name : {"ring.bin", "ring.bin.names"}) {
            std::ifstream file(it.folder.file(name), std::ios::binary);
            both.append(std::istreambuf_iterator<char>(file), {});
        }
        return both;
    };
    CHECK(bytes() == bytes());
}
