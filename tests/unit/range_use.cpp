// SPDX-License-Identifier: Apache-2.0
//
// What ranges took: peaks, what was there before, what stays behind, on several devices and threads.
#include "range_use.h"

#include "range_list.h"
#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr std::string_view kBegin = "memsnap-events 1\nsegment s 40MiB\nalloc weights s+0 8MiB site=9\n";

const DeviceUse& only(const RangeUse& range) {
    REQUIRE(range.devices.size() == 1);
    return range.devices.front();
}

RangeUses uses_of(const Capture& capture) {
    auto uses = range_uses(capture);
    REQUIRE(uses);
    return std::move(*uses);
}

}  // namespace

TEST_CASE("a range added its peak above what was there, and left what was born in it and is still live") {
    const Recording recording(std::string(kBegin) +
                              "phase begin batch\n"
                              "alloc a s+8MiB 6MiB site=1\nalloc b s+14MiB 4MiB site=2\n"
                              "free a\nfree weights\n"
                              "phase end batch\n");

    const RangeUses uses = uses_of(*recording.capture);

    REQUIRE(uses.ranges.size() == 1);
    const DeviceUse& use = only(uses.ranges.front());
    CHECK(use.begin_bytes == 8 * kMiB);
    CHECK(use.peak_bytes == 18 * kMiB);
    CHECK(use.added_bytes() == 10 * kMiB);
    CHECK(use.end_bytes == 4 * kMiB);
    CHECK(use.left_bytes == 4 * kMiB);
    CHECK(use.left_block_count == 1);
    CHECK(use.peak_reserved_bytes == 40 * kMiB);
    const auto sites = range_sites(*recording.capture, uses.ranges.front());
    REQUIRE(sites);
    REQUIRE(sites->front().at_peak.size() == 2);
    CHECK(sites->front().at_peak[0].key.site == 1);
    CHECK(sites->front().at_peak[0].bytes == 6 * kMiB);
    REQUIRE(sites->front().left.size() == 1);
    CHECK(sites->front().left[0].key.site == 2);
}

TEST_CASE("ranges inside each other are each their own, and the last closed is the outermost one") {
    const Recording recording(std::string(kBegin) +
                              "phase begin outer\nalloc a s+8MiB 2MiB\n"
                              "phase begin inner\nalloc b s+10MiB 4MiB\nfree b\nphase end inner\n"
                              "phase end outer\n");

    const RangeUses uses = uses_of(*recording.capture);

    REQUIRE(uses.ranges.size() == 2);
    CHECK(uses.ranges[0].depth == 0);
    CHECK(only(uses.ranges[0]).added_bytes() == 6 * kMiB);
    CHECK(only(uses.ranges[0]).left_bytes == 2 * kMiB);
    CHECK(uses.ranges[1].depth == 1);
    CHECK(only(uses.ranges[1]).begin_bytes == 10 * kMiB);
    CHECK(only(uses.ranges[1]).added_bytes() == 4 * kMiB);
    CHECK(only(uses.ranges[1]).left_bytes == 0);
    CHECK(last_closed(uses) == &uses.ranges[0]);
}

TEST_CASE("a peak is that of all threads, and each device has its own") {
    const Recording recording(std::string(kBegin) +
                              "segment other 20MiB device=1\n"
                              "phase begin batch thread=1\n"
                              "alloc a s+8MiB 3MiB thread=2\n"
                              "alloc b other+0 5MiB device=1 thread=2\n"
                              "phase end batch thread=1\n");

    const RangeUses uses = uses_of(*recording.capture);

    REQUIRE(uses.ranges.size() == 1);
    REQUIRE(uses.ranges[0].devices.size() == 2);
    CHECK(uses.ranges[0].devices[0].added_bytes() == 3 * kMiB);
    CHECK(uses.ranges[0].devices[1].device == 1);
    CHECK(uses.ranges[0].devices[1].begin_bytes == 0);
    CHECK(uses.ranges[0].devices[1].added_bytes() == 5 * kMiB);
}

TEST_CASE("a range that is still open has no end, and one that nothing was taken in has no share") {
    const Recording recording(std::string(kBegin) +
                              "phase begin open\nalloc a s+8MiB 1MiB\nphase begin idle\nphase end idle\n");

    const RangeUses uses = uses_of(*recording.capture);

    REQUIRE(uses.ranges.size() == 2);
    CHECK_FALSE(uses.ranges[0].end_ticket);
    CHECK(only(uses.ranges[0]).left_bytes == kMiB);
    CHECK(only(uses.ranges[1]).added_bytes() == 0);
    CHECK(last_closed(uses) == nullptr);
}

TEST_CASE("names of ranges are tokens where none are known, in the table and in the JSON") {
    const Recording recording(std::string(kBegin) +
                              "phase begin secret_model\nalloc a s+8MiB 1MiB\nphase end secret_model\n");
    const RangeUses uses = uses_of(*recording.capture);
    const Naming naming;
    const RangeList list{*recording.capture, uses, {}, naming, true};

    const std::string table = render_ranges(list, Letters::utf8);
    const std::string json = ranges_json(list);

    CHECK(table.find("phase-") != std::string::npos);
    CHECK((table + json).find("secret") == std::string::npos);
    CHECK(json.find("\"added_bytes\":1048576") != std::string::npos);
}

TEST_CASE("what was there before a late start is not added by the range of the first report") {
    constexpr std::string_view kLate =
        "memsnap-events 1\nheader start_mode=late\nsegment s 40MiB\n"
        "phase begin before\nphase end before\nphase begin batch\n";
    SECTION("an allocation") {
        const Recording recording(std::string(kLate) +
                                  "totals allocated=28MiB\nalloc a s+0 2MiB\n"
                                  "phase end batch\n");
        const RangeUses uses = uses_of(*recording.capture);
        CHECK(uses.ranges[0].devices.empty());
        CHECK(only(uses.ranges[1]).begin_bytes == 28 * kMiB);
        CHECK(only(uses.ranges[1]).added_bytes() == 2 * kMiB);
    }
    SECTION("what a list told of before is neither added nor left") {
        const Recording recording(std::string(kLate) +
                                  "initial old s+0 30MiB allocated=30MiB reserved=40MiB\nphase end batch\n");
        const RangeUses uses = uses_of(*recording.capture);
        REQUIRE(uses.ranges.size() == 2);
        for (const DeviceUse& use : uses.ranges[1].devices) {
            CHECK(use.added_bytes() == 0);
            CHECK(use.left_bytes == 0);
        }
    }
}

TEST_CASE("a range inside one that began before the window is not an outermost one") {
    RingWriterOptions options;
    options.ring_records = 32;
    RingWriter ring(options);
    const auto edge = [&](wire::Kind kind, uint64_t begin, uint16_t thread) {
        ring.thread = thread;
        return ring.phase(kind, 0, 0, wire::Family::range, begin);
    };
    ring.segment(kBase, 20 * kMiB);
    const uint64_t outer = edge(wire::Kind::phase_begin, 0, 1);
    for (int i = 0; i < 32; ++i) {
        ring.block_alloc(kBase, kMiB);
        ring.block_free(kBase);
    }
    const uint64_t inner = edge(wire::Kind::phase_begin, 0, 1);
    edge(wire::Kind::phase_end, inner, 2);  // of another thread: ends nothing
    edge(wire::Kind::phase_end, inner, 1);
    edge(wire::Kind::phase_end, outer, 1);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);

    const RangeUses uses = uses_of(*result.capture);

    REQUIRE(uses.ranges.size() == 1);
    CHECK(uses.ranges[0].end_ticket == inner + 2);
    CHECK(uses.ranges[0].depth == 1);
    CHECK(uses.begun_before_count == 1);
    CHECK(last_closed(uses) == nullptr);
}

TEST_CASE("open ranges beyond the most are counted and not followed, and the table says so") {
    std::string events = "memsnap-events 1\nheader ring_records=4096\nsegment s 40MiB\n";
    for (size_t i = 0; i < kRangesFollowed_most + 3; ++i)
        events += "phase begin careless\n";
    events += "alloc a s+0 1MiB\nphase end careless\n";
    const Recording recording(events);

    const RangeUses uses = uses_of(*recording.capture);
    const Naming naming;

    CHECK(uses.ranges.size() == kRangesFollowed_most);
    CHECK(uses.not_followed_count == 3);
    CHECK(render_ranges({*recording.capture, uses, {}, naming, true}, Letters::utf8)
              .find("3 ranges opened while 1024 others were open") != std::string::npos);
}

TEST_CASE("why there are no lines is said as it is") {
    const auto said = [](std::string_view events) {
        const Recording recording(events);
        const RangeUses uses = uses_of(*recording.capture);
        const Naming naming;
        return render_ranges({*recording.capture, uses, {}, naming, true}, Letters::utf8);
    };
    CHECK(said(kBegin).find("the program began none") != std::string::npos);
    CHECK(said("memsnap-events 1\nphase begin a\nphase end a\n").find("1 range, and no report") == 0);

    const Recording recording(kBegin);
    RangeUses uses;
    const Naming naming;
    uses.begun_before_count = 2;
    CHECK(render_ranges({*recording.capture, uses, {}, naming, true}, Letters::utf8)
              .find("2 ranges ended here that began before") != std::string::npos);
}

TEST_CASE("in standby there are no events, and it is not said that the program told of no ranges") {
    RingWriterOptions options;
    options.standby = true;
    RingWriter ring(options);
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.close_ring();
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const RangeUses uses = uses_of(*result.capture);
    const Naming naming;
    const RangeList list{*result.capture, uses, {}, naming, true};

    CHECK(render_ranges(list, Letters::utf8) == "no ranges: in standby, no events are kept\n");
    CHECK(ranges_json(list).find("\"in_standby\":true") != std::string::npos);
}
