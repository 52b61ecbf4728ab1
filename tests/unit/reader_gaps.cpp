// SPDX-License-Identifier: Apache-2.0
//
// Which records are accepted: the commit rule, laps, gaps, files copied while they are written.
#include <algorithm>
#include <fstream>
#include <span>

#include "catch.h"
#include "ring_file.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

RingWriterOptions small() {
    RingWriterOptions options;
    options.ring_records = 64;
    return options;
}

}  // namespace

TEST_CASE("a window that never wrapped begins at the first ticket") {
    RingWriter ring;
    ring.step(1);
    ring.step(2);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.events.begin_ticket() == 0);
    CHECK(result.capture->window.events.end_ticket() == 2);
    CHECK(result.outcome.event_count == 2);
}

TEST_CASE("a wrapped window begins a sixteenth of the ring after the oldest record") {
    RingWriter ring(small());
    for (uint64_t i = 1; i <= 100; ++i)
        ring.step(i);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.events.oldest_ticket() == 36);
    CHECK(result.capture->window.events.begin_ticket() == 40);
    CHECK(result.outcome.event_count == 60);
    CHECK(result.ledger->step_count() == 100);
    CHECK(Ledger(result.capture->window).step_count() == 40);
}

TEST_CASE("a ticket without a committed record is a gap, also when an older lap's record is in its slot") {
    RingWriter ring(small());
    for (uint64_t i = 1; i <= 100; ++i)
        ring.step(i);
    const wire::Record previous_lap = ring.at(99);
    ring.lose();
    ring.step(101);
    for (uint64_t i = 0; i < 62; ++i)
        ring.step(102 + i);
    ring.header().head++;  // taken by a writer that had not even invalidated the slot
    REQUIRE(previous_lap.seq == 100);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    const WindowFacts& facts = result.capture->window.facts;
    CHECK(facts.missing_count == 1);
    CHECK(facts.torn_count == 0);
    CHECK(facts.first_missing_ticket == 164);
    CHECK(facts.is_uncertain(Uncertainty::records_missing));
    CHECK(!result.capture->window.events.accepted(164));
    CHECK(result.capture->window.events.accepted(163));
}

TEST_CASE("records newer than the head, over older ones, show a file that was copied while it was written") {
    RingWriter ring(small());
    for (uint64_t i = 1; i <= 100; ++i)
        ring.step(i);
    ring.header().head -= 1;
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.facts.is_uncertain(Uncertainty::copied_while_written));
    CHECK(result.capture->window.events.end_ticket() == 99);
    CHECK(result.capture->window.events.oldest_ticket() == 36);
}

TEST_CASE("a live table newer than the head does not reach the window's end") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.at(3).seq = 0;
    ring.header().head -= 1;
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.facts.is_uncertain(Uncertainty::copied_while_written));
    CHECK(blocks_of(*result.ledger) == "0+1 ");
}

TEST_CASE("a death in the table that is newer than the head shows the same") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.step(1);
    ring.live(2)->state = 5 << 1;  // freed by ticket 4
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.facts.is_uncertain(Uncertainty::copied_while_written));
}

TEST_CASE("each declared loss is an uncertainty by its name") {
    const std::pair<Uncertainty, void (*)(wire::Header&)> declarations[] = {
        {Uncertainty::events_lost, [](wire::Header& h) { h.counters.lost = 1; }},
        {Uncertainty::events_lapped, [](wire::Header& h) { h.counters.lapped = 1; }},
        {Uncertainty::late_start, [](wire::Header& h) { h.start_mode = wire::StartMode::late; }},
        {Uncertainty::table_incomplete, [](wire::Header& h) { h.incomplete_from = 1; }},
    };
    for (const auto& [uncertainty, declare] : declarations) {
        RingWriter ring;
        ring.block_alloc(kBase, kMiB);
        ring.at(0).tail[0]++;  // totals that do not add up
        RingWriter::seal(ring.at(0));
        CHECK(replayed(ring).rule() == "totals_allocated");
        declare(ring.header());
        const Replayed result = replayed(ring);
        INFO(name(uncertainty));
        REQUIRE(!result.error);
        CHECK(result.capture->window.facts.is_uncertain(uncertainty));
        CHECK(result.tolerated(Rule::totals_allocated) == 1);
    }
}

TEST_CASE("the header's facts are what the file says, and unset ones are empty") {
    RingWriter ring;
    ring.header().rank = 3;
    ring.header().config.flags = wire::kConfigKnown | wire::kConfigExpandableSegments;
    ring.header().config.max_split_size_bytes = 64 * kMiB;
    ring.library_entry(1, wire::LibraryRole::torch_allocator);
    ring.exit(3);
    const auto capture = read(ring);
    REQUIRE(capture);
    CHECK(capture->header.rank == 3);
    CHECK(!capture->header.local_rank);
    CHECK(capture->header.config.known);
    CHECK(capture->header.config.expandable_segments);
    CHECK(!capture->header.config.backend_async);
    CHECK(capture->header.config.max_split_size_bytes == 64 * kMiB);
    CHECK(capture->header.exit_ticket == 0);
    CHECK(capture->header.exit_status == 3);
    CHECK(capture->library_role(1) == LibraryRole::torch_allocator);
    CHECK(capture->library_role(999) == LibraryRole::unknown);
}

TEST_CASE("raw counters become times by the anchors around them") {
    RingWriter ring;
    ring.header().clock_source = wire::ClockSource::x86_tsc;
    CHECK(!read(ring)->monotonic_ns(5));
    ring.anchor(1000, 5000, 1'000'005'000);
    CHECK(!read(ring)->monotonic_ns(5));
    ring.anchor(3000, 6000, 1'000'006'000);
    ring.anchor(5000, 10000, 1'000'010'000);
    const auto capture = read(ring);
    REQUIRE(capture);
    CHECK(capture->monotonic_ns(2000) == 5500);
    CHECK(capture->monotonic_ns(4000) == 8000);
    CHECK(capture->monotonic_ns(6000) == 12000);
    CHECK(capture->monotonic_ns(0) == 4500);
    CHECK(capture->realtime_ns(2000) == 1'000'005'500);
}

TEST_CASE("pinned observations: of two copies the newer one counts, samples come oldest first") {
    RingWriter ring;
    ring.block_alloc(kBase, kMiB);
    const uint64_t first = ring.mem_info(80 * kMiB, 70 * kMiB);
    const uint64_t second = ring.mem_info(80 * kMiB, 60 * kMiB);
    ring.pin(ring.pinned(0).first_report, 0);
    ring.pin(ring.pinned(0).last_observation[0], second);
    ring.pin(ring.pinned(0).last_observation[1], first);
    ring.pin(ring.pinned(0).peak_outside[0], first);
    ring.pin(ring.pinned(0).peak_outside[1], second);
    ring.pin(ring.pinned(0).samples[0], second);
    ring.pin(ring.pinned(0).samples[63], first);
    const auto capture = read(ring);
    REQUIRE(capture);
    const PinnedDevice& pinned = capture->pinned[0];
    CHECK(pinned.first_report->ticket == 0);
    CHECK(pinned.last_observation->ticket == second);
    CHECK(pinned.last_observation->device_free_bytes() == 60 * kMiB);
    CHECK(pinned.peak_outside->ticket == second);
    REQUIRE(pinned.samples.size() == 2);
    CHECK(pinned.samples[0].ticket == first);
    CHECK(!pinned.peak_allocated);
    CHECK(capture->pinned[1].empty());
}

TEST_CASE("boundaries are read with their units, unknown device-free is empty") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, 4 * kMiB);
    wire::Boundary& boundary = ring.boundary(ring.step(1));
    boundary.family = static_cast<uint8_t>(wire::Family::step);
    boundary.free_age = 2;
    const auto capture = read(ring);
    REQUIRE(capture);
    REQUIRE(capture->boundaries.size() == 1);
    CHECK(capture->boundaries[0].allocated_bytes == 4 * kMiB);
    CHECK(capture->boundaries[0].reserved_bytes == 20 * kMiB);
    CHECK(!capture->boundaries[0].device_free_bytes);
    CHECK(capture->boundaries[0].free_age_counter == 2 << 20);
    CHECK(capture->boundaries[0].family == BoundaryFamily::step);
}

TEST_CASE("holes of a sparse file are gaps, and what lies behind them is read") {
    RingWriterOptions options;
    options.ring_records = 1 << 16;
    RingWriter ring(options);
    ring.step(1);
    ring.header().head += 50000;
    const uint64_t last = ring.step(2);
    const std::vector<std::byte>& bytes = ring.bytes();
    const Folder folder;
    const std::string path = folder.file("sparse.bin");
    std::ofstream file(path, std::ios::binary);
    constexpr size_t kPage_bytes = 4096;
    for (size_t at = 0; at < bytes.size(); at += kPage_bytes) {
        const auto page = std::span(bytes).subspan(at, std::min(kPage_bytes, bytes.size() - at));
        if (std::ranges::all_of(page, [](std::byte byte) { return byte == std::byte{0}; })) continue;
        file.seekp(static_cast<std::streamoff>(at));
        file.write(reinterpret_cast<const char*>(page.data()), static_cast<std::streamsize>(page.size()));
    }
    file.close();
    std::filesystem::resize_file(path, bytes.size());
    const auto capture = Capture::read(path);
    REQUIRE(capture);
    CHECK(capture->window.facts.accepted_count == 2);
    CHECK(capture->window.facts.missing_count == 50000);
    CHECK(capture->window.events.accepted(last));
}

TEST_CASE("the next data of a file is never before the offset, nor behind the data") {
    const Folder folder;
    const std::string path = folder.file("holes.bin");
    constexpr uint64_t kData_bytes = 8 * kMiB;
    std::ofstream file(path, std::ios::binary);
    file.seekp(kData_bytes);
    file << "data";
    file.close();
    std::filesystem::resize_file(path, 2 * kData_bytes);
    const auto holes = RingFile::open(path);
    REQUIRE(holes);
    for (const uint64_t offset_bytes : {uint64_t{0}, kMiB, kData_bytes}) {
        CHECK(holes->next_data(offset_bytes) >= offset_bytes);
        CHECK(holes->next_data(offset_bytes) <= kData_bytes);
    }
    CHECK(holes->next_data(kData_bytes + kMiB) >= kData_bytes + kMiB);
    CHECK(holes->next_data(kData_bytes + kMiB) <= 2 * kData_bytes);
    std::filesystem::resize_file(path, kData_bytes);  // cut short: reading it must say so
    CHECK(holes->next_data(kData_bytes) == kData_bytes);
}
