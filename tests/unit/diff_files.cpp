// SPDX-License-Identifier: Apache-2.0
//
// Two files become two sides: rings, the receipts of rings, and what only a ring knows.
#include <fstream>

#include "diff.h"
#include "diff_grants.h"
#include "diff_read.h"
#include "failing_job.h"
#include "receipt.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

// Segments of 100 MiB, each with a block of 50 MiB.
void put_half_used(RingWriter& ring, uint64_t count, int device = 0) {
    for (uint64_t index = 0; index < count; ++index) {
        ring.segment(place(index * 200), 100 * kUnit, device);
        ring.block_alloc(place(index * 200), 50 * kUnit, device);
    }
}

void grant(RingWriter& ring, uint64_t offset_MiB, uint64_t size_MiB) {
    ring.segment(place(offset_MiB), size_MiB * kUnit);
    ring.block_alloc(place(offset_MiB), size_MiB * kUnit);
}

// 450 MiB in use, 450 in holes of 50, 100 free: 200 in one piece are not to be had.
void fail_fragmented(RingWriter& ring, int device = 0) {
    put_half_used(ring, 9, device);
    ring.keyframe(0, oom(ring, 200, 100, device));
}

void end_well(RingWriter& ring) {
    ring.mem_info(kCardMiB * kUnit, 300 * kUnit);
    ring.exit(0);
}

std::pair<DiffSide, DiffSide> sides_of(const std::string& before, const std::string& after) {
    auto sides = read_sides(before, after);
    INFO((sides ? "" : describe(sides.error())));
    REQUIRE(sides);
    return std::move(*sides);
}

std::pair<DiffSide, DiffSide> sides_of(RingWriter& before, RingWriter& after) {
    const Folder folder;
    before.write(folder.file("before.bin"));
    after.write(folder.file("after.bin"));
    return sides_of(folder.file("before.bin"), folder.file("after.bin"));
}

void write_receipt_of(const std::string& ring, const std::string& path) {
    const auto capture = Capture::read(ring);
    REQUIRE(capture);
    const auto receipt = write_receipt(*capture, analyse(*capture, {}).value());
    REQUIRE(receipt);
    std::ofstream(path, std::ios::binary) << *receipt;
}

// Steps of 10 ms (a counter tick is a microsecond), each leaving a block of 1 MiB behind as long as
// `leaking`.
void put_steps(RingWriter& ring, uint64_t count, uint64_t leaking) {
    ring.header().clock_source = wire::ClockSource::x86_tsc;
    ring.anchor(0, 0, 0);
    ring.anchor(1'000'000, 1'000'000'000, 1'000'000'000);
    ring.segment(place(5000), 100 * kUnit);
    for (uint64_t index = 1; index <= count; ++index) {
        if (index <= leaking) ring.block_alloc(place(5000 + index), kUnit);
        ring.time = 10'000 * index;
        ring.boundary(ring.step(index)).family = static_cast<uint8_t>(wire::Family::step);
    }
}

}  // namespace

TEST_CASE("a fragmented ring and one that was granted the request make a proven comparison") {
    RingWriter before;
    fail_fragmented(before);
    RingWriter after;
    put_half_used(after, 4);
    grant(after, 5000, 200);
    end_well(after);
    const auto [left, right] = sides_of(before, after);
    REQUIRE(left.incident);
    CHECK(left.incident->primary == "fragmentation");
    CHECK(left.ending == Ending::fatal);
    CHECK(right.ending == Ending::no_incident);
    CHECK(right.ended_well);
    REQUIRE(right.grants);
    CHECK(right.grants->count == 1);
    CHECK(right.grants->slack_bytes.value == Wide{200 * kUnit});
    const Diff diff = compare(left, right, {});
    CHECK(diff.result == DiffResult::proven);
    CHECK(exit_status(diff) == 0);
}

TEST_CASE("a ring and its own receipt share the cohort and the digests, and a receipt knows no grants") {
    const Folder folder;
    RingWriter ring;
    fail_fragmented(ring);
    ring.write(folder.file("ring.bin"));
    write_receipt_of(folder.file("ring.bin"), folder.file("receipt.json"));
    const auto [left, right] = sides_of(folder.file("ring.bin"), folder.file("receipt.json"));
    CHECK(left.receipt_digest == right.receipt_digest);
    CHECK(left.verdict == right.verdict);
    CHECK(left.incident->deficit.value == right.incident->deficit.value);
    CHECK(left.grants);
    CHECK(!right.grants);
    const Diff diff = compare(left, right, {});
    CHECK(diff.cohort.comparable());
    CHECK(diff.result == DiffResult::incident_persists);
}

TEST_CASE("grants of BEFORE count up to its failure only") {
    RingWriter before;
    grant(before, 6000, 200);
    before.block_free(place(6000));
    before.call_free(wire::Op::cudaFree, place(6000));
    fail_fragmented(before);
    grant(before, 6000, 200);
    RingWriter after;
    grant(after, 5000, 200);
    end_well(after);
    const auto [left, right] = sides_of(before, after);
    CHECK(left.grants->count == 1);
    CHECK(left.grants->exact);
    CHECK(right.grants->count == 1);
    CHECK(judge_contract(left, right, {})->result == Proof::not_proven);
}

TEST_CASE("of AFTER the grant is looked at that BEFORE was refused") {
    RingWriter before;
    grant(before, 6000, 200);
    before.block_free(place(6000));
    before.call_free(wire::Op::cudaFree, place(6000));
    fail_fragmented(before);
    RingWriter after;
    grant(after, 5000, 200);
    after.segment(place(5500), 100 * kUnit);
    grant(after, 6000, 200);
    after.segment(place(6500), 100 * kUnit);
    grant(after, 7000, 200);
    end_well(after);
    const auto sides = sides_of(before, after);
    CHECK(sides.second.grants->count == 3);
    CHECK(sides.second.grants->slack_bytes.value == Wide{100 * kUnit});
}

TEST_CASE("smaller blocks, other devices and other allocators are no grants") {
    RingWriter ring;
    ring.segment(place(0), 300 * kUnit);
    ring.block_alloc(place(0), 200 * kUnit);
    ring.block_alloc(place(200), 99 * kUnit);
    ring.segment(place(1000), 300 * kUnit, 1);
    ring.block_alloc(place(1000), 200 * kUnit, 1);
    ring.foreign_call(wire::Op::cudaMalloc, place(2000), 200 * kUnit);
    ring.mem_info(kCardMiB * kUnit, 300 * kUnit);
    ring.foreign_call(wire::Op::cudaMalloc, place(3000), 200 * kUnit);
    const auto capture = read(ring);
    REQUIRE(capture);
    const auto counted = [&](Want::By by, uint64_t nth) {
        return count_grants(*capture, {by, 200 * kUnit, 0}, capture->window.events.end_ticket(), nth);
    };
    CHECK(counted(Want::By::block, 1).count == 1);
    CHECK(counted(Want::By::torch_call, 1).count == 1);
    CHECK(counted(Want::By::foreign_call, 1).count == 2);
    CHECK(!counted(Want::By::foreign_call, 1).device_free_bytes.known());
    CHECK(counted(Want::By::foreign_call, 2).device_free_bytes.value == Wide{300 * kUnit});
    CHECK(counted(Want::By::block, 1).largest_bytes == 200 * kUnit);
}

TEST_CASE("a lost record makes the count of grants a bound") {
    RingWriter ring;
    grant(ring, 0, 200);
    ring.lose();
    grant(ring, 1000, 200);
    const auto capture = read(ring);
    REQUIRE(capture);
    const Want want{Want::By::block, 200 * kUnit, 0};
    CHECK(!count_grants(*capture, want, capture->window.events.end_ticket(), 1).exact);
    CHECK(count_grants(*capture, want, 3, 1).exact);
}

TEST_CASE("steps give a rate by the clock, and growth over the last five pairs") {
    RingWriter before;
    fail_fragmented(before);
    RingWriter after;
    put_steps(after, 8, 4);
    end_well(after);
    const auto [left, right] = sides_of(before, after);
    CHECK(static_cast<int64_t>(right.boundaries_per_kilosecond.value.value_or(-1)) == 100000);
    CHECK(right.steps_ended_count == 8);
    REQUIRE(right.growth);
    CHECK(right.growth->boundary_count == 8);
    CHECK(right.growth->growing_pairs_count == 1);
    CHECK(right.growth->rise_bytes == Wide{kUnit});
    CHECK(right.growth->spaced_rise_bytes == Wide{kUnit});
    CHECK(right.growth->spaced_steps_count == 5);
    CHECK(!left.boundaries_per_kilosecond.known());
    CHECK(!left.growth);
}

TEST_CASE("from 21 steps on growth is also that of five pairs an eighth of them apart") {
    RingWriter before;
    fail_fragmented(before);
    RingWriter after;
    put_steps(after, 25, 12);
    end_well(after);
    const auto growth = sides_of(before, after).second.growth;
    REQUIRE(growth);
    CHECK(growth->rise_bytes == Wide{0});
    CHECK(growth->growing_pairs_count == 1);
    CHECK(growth->spaced_rise_bytes == 2 * Wide{kUnit});
    CHECK(growth->spaced_steps_count == 15);
}

TEST_CASE("boundaries that were thinned out count as many as they stand for") {
    RingWriter before;
    fail_fragmented(before);
    RingWriter after;
    put_steps(after, 8, 0);
    after.header().boundary_stride = 2;
    const DiffSide side = sides_of(before, after).second;
    CHECK(side.boundaries_per_kilosecond.value == Wide{200'000});
    REQUIRE(side.growth);
    CHECK(side.growth->spaced_steps_count == 10);
}

TEST_CASE("without anchors there is no rate") {
    RingWriter before;
    fail_fragmented(before);
    RingWriter after;
    after.header().clock_source = wire::ClockSource::x86_tsc;
    after.segment(place(0), 20 * kUnit);
    for (uint64_t number = 1; number <= 8; ++number)
        after.boundary(after.step(number)).family = static_cast<uint8_t>(wire::Family::step);
    CHECK(!sides_of(before, after).second.boundaries_per_kilosecond.known());
}

TEST_CASE("the pinned peak of the whole run stands before that of the window") {
    RingWriter pinned;
    put_half_used(pinned, 9);
    const uint64_t last = pinned.block_alloc(place(50), 10 * kUnit);
    pinned.pin(pinned.pinned(0).peak_allocated[0], last);
    pinned.keyframe(0, oom(pinned, 200, 100));
    RingWriter bare;
    fail_fragmented(bare);
    const auto [left, right] = sides_of(pinned, bare);
    CHECK(left.peak_active.value == Wide{460 * kUnit});
    CHECK(left.peak_active.provenance == Provenance::observed);
    CHECK(right.peak_active.value == Wide{450 * kUnit});
    CHECK(right.peak_active.provenance == Provenance::derived);
}

TEST_CASE("a side without an incident is looked at on the device that failed on the other") {
    RingWriter before;
    fail_fragmented(before, 1);
    RingWriter after;
    grant(after, 5000, 200);
    put_half_used(after, 3, 1);
    end_well(after);
    const auto [left, right] = sides_of(before, after);
    CHECK(left.cohort.front().value.text() == "1");
    CHECK(right.cohort.front().value.text() == "1");
    CHECK(right.grants->count == 0);
}

TEST_CASE("what is neither a ring nor a receipt is told apart from a damaged receipt") {
    const Folder folder;
    RingWriter ring;
    fail_fragmented(ring);
    ring.write(folder.file("ring.bin"));
    const auto code_of = [&](const std::string& content) {
        std::ofstream(folder.file("other"), std::ios::binary) << content;
        const auto sides = read_sides(folder.file("ring.bin"), folder.file("other"));
        REQUIRE(!sides);
        CHECK(sides.error().file == folder.file("other"));
        return sides.error().code;
    };
    CHECK(code_of("") == ErrorCode::not_memsnap);
    CHECK(code_of("{") == ErrorCode::not_memsnap);
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i)
        deep += "{\"a\":";
    CHECK(code_of(deep) == ErrorCode::not_memsnap);
    CHECK(code_of("{\"schema\":\"memsnap.receipt.v9\"}") == ErrorCode::not_memsnap);
    write_receipt_of(folder.file("ring.bin"), folder.file("receipt.json"));
    std::ifstream in(folder.file("receipt.json"), std::ios::binary);
    std::string receipt{std::istreambuf_iterator<char>(in), {}};
    const size_t at = receipt.find("\"margin_bytes\":") + 15;
    receipt[at] = receipt[at] == '1' ? '2' : '1';
    CHECK(code_of(receipt) == ErrorCode::corrupt);
    const auto missing = read_sides(folder.file("missing"), folder.file("ring.bin"));
    REQUIRE(!missing);
    CHECK(missing.error().code == ErrorCode::io);
}
