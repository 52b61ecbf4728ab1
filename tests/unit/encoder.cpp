// SPDX-License-Identifier: Apache-2.0
//
// Text to ring to reader: what the text says is what the replay reads, and a wrong text is refused by line.
#include <fstream>

#include "catch.h"
#include "encode.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr std::string_view kFirst = "memsnap-events 1\n";

Replayed replayed(const std::string& text) {
    const Encoded bytes = encode(std::string(kFirst) + text);
    INFO((bytes ? std::string() : std::to_string(bytes.error().line) + ": " + bytes.error().message));
    REQUIRE(bytes);
    const Folder folder;
    std::ofstream(folder.file("ring.bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
    Replayed result;
    auto capture = Capture::read(folder.file("ring.bin"));
    if (!capture) {
        result.error = capture.error();
        return result;
    }
    result.capture = std::make_unique<Capture>(std::move(*capture));
    result.ledger.emplace(result.capture->window);
    auto outcome = replay(*result.capture, result.capture->window, *result.ledger,
                          [](const Event&, const Ledger&, const Change&) {});
    if (outcome) result.outcome = *outcome;
    if (!outcome) result.error = outcome.error();
    return result;
}

std::string refusal(const std::string& text) {
    const Encoded bytes = encode(text);
    REQUIRE_FALSE(bytes);
    return std::to_string(bytes.error().line) + ": " + bytes.error().message;
}

std::vector<Event> events_of(const Replayed& it, Kind kind) {
    std::vector<Event> found;
    it.capture->window.events.for_each([&](const Event& event) {
        if (event.kind == kind) found.push_back(event);
        return true;
    });
    return found;
}

}  // namespace

TEST_CASE("blocks of an encoded text are where it says and the totals agree", "[encoder]") {
    const Replayed it = replayed(
        "segment s1 20MiB at=0x7f0000000000\nalloc a s1+0 2MiB site=7\nalloc b s1+4MiB 1MiB+512\nfree a\n");
    REQUIRE_FALSE(it.error);
    const auto blocks = events_of(it, Kind::block_alloc);
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].site() == 7);
    CHECK(blocks[1].address == kBase + 4 * kMiB);
    CHECK(blocks[1].size_bytes == kMiB + 512);
    CHECK(blocks[1].allocated_bytes == 3 * kMiB + 512);
    CHECK(blocks[1].reserved_bytes == 20 * kMiB);
    CHECK(it.ledger->device(0).allocated_bytes == kMiB + 512);
}

TEST_CASE("chosen addresses are aligned, apart, and the same for the same text", "[encoder]") {
    const std::string text = std::string(kFirst) + "segment s1 20MiB+512\nsegment s2 2MiB\n";
    const Replayed it = replayed("segment s1 20MiB+512\nsegment s2 2MiB\n");
    const auto calls = events_of(it, Kind::ok);
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].address % (2 * kMiB) == 0);
    CHECK(calls[1].address % (2 * kMiB) == 0);
    CHECK(calls[1].address > calls[0].address + 22 * kMiB);
    CHECK(encode(text).value() == encode(text).value());
    CHECK(encode(text).value() != encode(text + "# another text has another ring id\n").value());
}

TEST_CASE("an old block that is freed has its birth beside the free", "[encoder]") {
    const Replayed it = replayed(
        "header ring_records=64\nlive segment s0 20MiB\nlive alloc w s0+0 20MiB site=9 step=3 birth_time=5\n"
        "segment s1 2MiB\nfree w\n");
    REQUIRE_FALSE(it.error);
    const auto births = events_of(it, Kind::birth);
    REQUIRE(births.size() == 1);
    CHECK(births[0].site() == 9);
    CHECK(births[0].birth_step() == 3);
    CHECK(it.capture->window.objects.front().live_at_begin);
    CHECK(it.ledger->device(0).allocated_bytes == 0);
    CHECK(it.ledger->device(0).reported_reserved_bytes == 22 * kMiB);
}

TEST_CASE("a failing operation is described as the failing thread describes it", "[encoder]") {
    const Replayed it = replayed(
        "segment s1 20MiB\nalloc a s1+0 2MiB\nfail cudaMalloc 30MiB as=first\n"
        "fail cudaMalloc 30MiB\nmem_info total=1GiB free=5MiB as=seen\noom 30MiB as=f\nkeyframe\n");
    REQUIRE_FALSE(it.error);
    const auto operations = events_of(it, Kind::operation);
    REQUIRE(operations.size() == 1);
    CHECK(operations[0].call_ticket() == 4);
    CHECK(operations[0].last_observation_ticket() == 7);
    CHECK(operations[0].failed_call_count() == 2);
    CHECK(operations[0].last_attempt_bytes() == 30 * kMiB);
    REQUIRE(it.capture->keyframes.size() == 1);
    CHECK(it.capture->keyframes[0].failure.ticket == 9);
    // The two tries and failures, the look at the card, and what was said of them all.
    CHECK((*it.capture->read_keyframe(0))->operation.size() == 6);
}

TEST_CASE("pinned copies are those a recorder would have kept", "[encoder]") {
    const Replayed it = replayed(
        "mem_info total=1GiB free=900MiB\nsegment s1 20MiB\nalloc a s1+0 2MiB\nfree a\nmem_info total=1GiB "
        "free=800MiB\n"
        "mem_info total=1GiB free=850MiB\ncap 512MiB\nalloc b s1+0 1MiB\nstep\nmem_info total=1GiB "
        "free=700MiB\n"
        "process_sample own=1MiB others=2MiB\n");
    REQUIRE_FALSE(it.error);
    const PinnedDevice& pinned = it.capture->pinned[0];
    CHECK(pinned.first_report->ticket == 3);
    CHECK(pinned.peak_allocated->ticket == 3);
    CHECK(pinned.first_observation->device_free_bytes() == 800 * kMiB);
    CHECK(pinned.before_first_boundary->device_free_bytes() == 850 * kMiB);
    CHECK(pinned.last_observation->device_free_bytes() == 700 * kMiB);
    CHECK(pinned.peak_outside->device_free_bytes() == 700 * kMiB);
    CHECK(pinned.cap->limit_bytes() == 512 * kMiB);
    CHECK(pinned.last_processes->other_process_bytes() == 2 * kMiB);
}

TEST_CASE("steps and ranges close boundaries for every reporting device", "[encoder]") {
    const Replayed it = replayed(
        "segment s1 20MiB\nalloc a s1+0 2MiB\nsegment s2 20MiB device=1\nalloc b s2+0 4MiB device=1\n"
        "note batch 8\nstep boundary.opened=none\nphase begin run7\nphase begin inner\nphase end\nphase "
        "end\nstep\n");
    REQUIRE_FALSE(it.error);
    const std::vector<Boundary>& boundaries = it.capture->boundaries;
    REQUIRE(boundaries.size() == 8);
    CHECK(boundaries[0].family == BoundaryFamily::step);
    CHECK(boundaries[0].opened_ticket == kNoTicket);
    CHECK(boundaries[1].device == 1);
    CHECK(boundaries[1].allocated_bytes == 4 * kMiB);
    CHECK(boundaries[0].dimensions == 1);
    CHECK(boundaries[2].depth == 1);
    CHECK(boundaries[4].depth == 0);
    CHECK(boundaries[4].exact_name != boundaries[4].folded_name);
    CHECK(boundaries[6].opened_ticket == boundaries[0].ticket);
}

TEST_CASE("an explicit boundary has every field the line gives it", "[encoder]") {
    const Replayed it = replayed(
        "header boundaries=no\nsegment s1 20MiB\nalloc a s1+0 2MiB\nstep\nmark end as=end\n"
        "boundary closing=@end family=module device=0 opened=7 ordinal=5 time=9 free_age=2 dimensions=3 "
        "name=11 "
        "folded_name=12 thread=4 allocated=1MiB reserved=2MiB device_free=3MiB depth=6\n");
    REQUIRE_FALSE(it.error);
    REQUIRE(it.capture->boundaries.size() == 1);
    const Boundary& boundary = it.capture->boundaries[0];
    CHECK(boundary.ticket == 4);
    CHECK(boundary.family == BoundaryFamily::module);
    CHECK(boundary.opened_ticket == 7);
    CHECK(boundary.ordinal == 5);
    CHECK(boundary.dimensions == 3);
    CHECK(boundary.exact_name == 11);
    CHECK(boundary.folded_name == 12);
    CHECK(boundary.thread == 4);
    CHECK(boundary.allocated_bytes == kMiB);
    CHECK(boundary.reserved_bytes == 2 * kMiB);
    CHECK(boundary.device_free_bytes == 3 * kMiB);
    CHECK(boundary.depth == 6);
}

TEST_CASE("a boundary stride keeps every second boundary of a family and counts the others", "[encoder]") {
    const Replayed it = replayed(
        "header boundary_stride=2\nsegment s1 20MiB\nalloc a s1+0 2MiB\nstep\nstep\nstep\nstep\nstep\n");
    REQUIRE(it.capture->boundaries.size() == 3);
    CHECK(it.capture->boundaries[1].ordinal == 2);
    CHECK(it.capture->header.counters.boundaries_dropped == 2);
}

TEST_CASE("nested and captured calls are recorded and make no object", "[encoder]") {
    const Replayed it = replayed(
        "reserve va 1GiB\ncreate h 20MiB\nmap m va+0 h nested\ncall x cudaMallocAsync 1MiB capturing\n");
    REQUIRE_FALSE(it.error);
    const auto calls = events_of(it, Kind::ok);
    REQUIRE(calls.size() == 4);
    CHECK(calls[2].has(kNested));
    CHECK(calls[2].extra == calls[1].address);
    CHECK(calls[3].has(kCapturing));
    CHECK(it.capture->window.objects.size() == 2);
}

TEST_CASE("damage is sealed again and judged by its rule", "[encoder]") {
    const std::string two = "segment s1 20MiB\nalloc a s1+0 2MiB\nalloc b s1+4MiB 2MiB as=b\n";
    CHECK_FALSE(replayed(two).error);
    CHECK(replayed(two + "corrupt record of=@b address=s1+1MiB\ncorrupt entry b address=s1+1MiB\n").rule() ==
          "block_overlap");
    CHECK(replayed(two + "copy entry b\n").rule() == "table_duplicate");
    CHECK(replayed(two + "unseal entry b\n").rule() == "table_check");
    CHECK(replayed(two + "torn\nexit 1\n").rule() == "record_check");
    CHECK(replayed(two + "truncate 70000\n").rule() == "file_bytes");
    CHECK(replayed(two + "header version_major=9\n").rule() == "version");
    CHECK(replayed(two + "lose\n").capture->window.facts.missing_count == 1);
}

TEST_CASE("a wrong text is refused with its line and what was expected", "[encoder]") {
    CHECK(refusal("") == "0: expected 'memsnap-events 1' as the first line");
    CHECK(refusal("# nothing\nsegment s1 2MiB\n") == "2: expected 'memsnap-events 1' as the first line");
    const std::string first(kFirst);
    CHECK(refusal(first + "\nfoo\n") == "3: unknown verb 'foo'");
    CHECK(refusal(first + "segment s1\n") == "2: expected a size after 'segment'");
    CHECK(refusal(first + "segment s1 2MB\n") ==
          "2: expected a number, a size or a known name, found '2MB' in '2MB'");
    CHECK(refusal(first + "segment s1 2MiB colour=red\n") == "2: unexpected key 'colour' in 'segment'");
    CHECK(refusal(first + "segment s1 2MiB fast\n") == "2: unexpected word 'fast' in 'segment'");
    CHECK(refusal(first + "free a\n") == "2: no earlier line makes 'a'");
    CHECK(refusal(first + "segment s1 2MiB\nsegment s1 2MiB\n") == "3: 's1' is live already");
    CHECK(refusal(first + "step boundary.opened=@x\n") == "2: no earlier line says as=x");
    CHECK(refusal(first + "step\nheader ring_records=64\n") ==
          "3: 'ring_records' must stand before the first event");
    CHECK(refusal(first + "segment s1 99999999TiB\n") ==
          "2: expected a number, a size or a known name, found '99999999TiB' in '99999999TiB'");
}

TEST_CASE("a context's end frees each object by the same call, and a refusal takes all of them back",
          "[encoder]") {
    const Replayed it = replayed(
        "call buf cudaMalloc 2MiB\ncall pin cudaMallocHost 2MiB\ncall kept cudaMalloc 2MiB\n"
        "end_context cudaDeviceReset buf pin code=1\nend_context cudaDeviceReset buf pin\n");
    REQUIRE_FALSE(it.error);
    const auto frees = events_of(it, Kind::free);
    REQUIRE(frees.size() == 4);
    for (const Event& event : frees)
        CHECK(event.op == Op::cudaDeviceReset);
    CHECK(frees[0].birth_ticket() == 1);
    CHECK(frees[1].birth_ticket() == 3);
    const auto refused = events_of(it, Kind::free_fail);
    REQUIRE(refused.size() == 2);
    CHECK(refused[1].ticket < frees[2].ticket);
    CHECK(refused[1].birth_ticket() == 3);
    CHECK(it.ledger->object_count() == 1);
    CHECK(it.tolerated(Rule::object_end) == 0);
    CHECK(it.tolerated(Rule::object_unmatched) == 0);
}

TEST_CASE("what is captured enters and ends nothing", "[encoder]") {
    const Replayed it = replayed(
        "call as cudaMallocAsync 2MiB\ncall node cudaMallocAsync 4MiB capturing\nfree as capturing\nfree "
        "node\n");
    REQUIRE_FALSE(it.error);
    CHECK(it.ledger->object_count() == 1);
    for (const Event& event : events_of(it, Kind::free)) {
        CHECK(event.has(kCapturing));
        CHECK(event.birth_ticket() == kNoTicket);
    }
    CHECK(it.tolerated(Rule::object_end) == 0);
    CHECK(it.tolerated(Rule::object_unmatched) == 0);
}

TEST_CASE("several references to a handle are freed one by one", "[encoder]") {
    const Replayed it =
        replayed("call h cuMemCreate 2MiB\ncall again cuMemRetainAllocationHandle 2MiB at=h\nfree h\n");
    REQUIRE_FALSE(it.error);
    CHECK(events_of(it, Kind::free).front().birth_ticket() == 1);
    CHECK(it.ledger->foreign(0).front().bytes == 2 * kMiB);
}

TEST_CASE("a library's entry points, sampling and a neighbour of the job are what the text says",
          "[encoder]") {
    const Replayed it = replayed(
        "library_entry 3 role=program entry_points=57\nheader sampling=off sample_period_ms=250\n"
        "neighbour pid=9 bytes=1MiB job\nneighbour pid=9 bytes=1MiB\n");
    REQUIRE_FALSE(it.error);
    CHECK(it.capture->libraries[3].entry_point_count == 57);
    CHECK(it.capture->header.sampling == Sampling::off);
    CHECK(it.capture->header.sample_period_ms == 250);
    CHECK(events_of(it, Kind::neighbour)[0].of_this_job());
    CHECK_FALSE(events_of(it, Kind::neighbour)[1].of_this_job());
}

TEST_CASE("who told the events, what was stated and what the tap knows are what the text says", "[encoder]") {
    const Replayed it = replayed(
        "header origin=profiler_trace stated=total\nsegment s1 20MiB\ninitial a s1+0 1MiB site=7\n"
        "tap_segment_alloc s1 told_again pool=65535\ntap_oom 1MiB free=none\n"
        "tap_oom 1MiB free=2MiB requested=512\n");
    REQUIRE_FALSE(it.error);
    CHECK(it.capture->header.origin == Origin::profiler_trace);
    CHECK(it.capture->header.total_stated);
    CHECK(it.ledger->find_block(events_of(it, Kind::initial)[0].address)->site == 7);
    CHECK(events_of(it, Kind::tap_segment_alloc)[0].told_again());
    const auto words = events_of(it, Kind::tap_oom);
    CHECK((words[0].device_free_bytes() == kNotTold && words[0].requested_bytes() == kNotTold));
    CHECK((words[1].device_free_bytes() == 2 * kMiB && words[1].requested_bytes() == 512));
    CHECK(replayed("header origin=77 stated=2\n").capture->header.origin == Origin::unknown);
    CHECK_FALSE(replayed("header origin=77 stated=2\n").capture->header.total_stated);
}
