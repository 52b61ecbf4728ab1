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
