// SPDX-License-Identifier: Apache-2.0
//
// What evidence is taken from the records of a failure, and that ring and keyframe give the same.
#include "failing_job.h"
#include "receipt_evidence.h"

using namespace memsnap;
using namespace memsnap::test;
using enum Hypothesis;

namespace {

// 900 MiB reserved, `used` of them by blocks of 10 MiB with holes of 10 MiB between; 24 MiB outside.
RingWriter holed(uint64_t free_MiB = 100) {
    RingWriter ring;
    ring.segment(place(0), 900 * kUnit);
    for (uint64_t at = 0; at < 900; at += 20)
        ring.block_alloc(place(at), 10 * kUnit);
    ring.mem_info(kCardMiB * kUnit, free_MiB * kUnit);
    return ring;
}

void pin_everything(RingWriter& ring, uint64_t first_report, uint64_t first_observation) {
    ring.pin(ring.pinned(0).first_report, first_report);
    ring.pin(ring.pinned(0).first_observation, first_observation);
    ring.pin(ring.pinned(0).last_observation[0], first_observation);
}

std::string evidence_of(RingWriter& ring, bool from_keyframe) {
    const Analysed result = analysed(ring);
    INFO(result.error);
    REQUIRE(result.analysis);
    REQUIRE(result.analysis->incident);
    CHECK(result.analysis->incident->from_keyframe == from_keyframe);
    const Dictionary dictionary(*result.analysis);
    return Json(evidence_json(*result.capture, *result.analysis, dictionary)).text();
}

}  // namespace

TEST_CASE("a fragmented job's evidence is its totals, its observation and its holes") {
    RingWriter ring = holed();
    oom(ring, 200, 100);
    const Incident incident = incident_of(ring);
    const Evidence& evidence = incident.evidence;
    CHECK(evidence.total == Measure::observed(kCardMiB * kUnit));
    CHECK(evidence.device_free == Measure::observed(100 * kUnit));
    CHECK(evidence.reserved == Measure::observed(900 * kUnit));
    CHECK(evidence.allocated == Measure::observed(450 * kUnit));
    CHECK(evidence.segment_request == Measure::observed(200 * kUnit));
    CHECK(evidence.device_call == DeviceCall::failed);
    CHECK(evidence.free_observed_at_failure);
    CHECK_FALSE(evidence.deferred.known());
    CHECK_FALSE(evidence.outside.others.known());
    CHECK(evidence.extents.largest_not_excluded == 10 * kUnit);
    CHECK(evidence.extents.largest_compatible == 0);
    CHECK(evidence.extents.fragmented == 450 * kUnit);
    CHECK(incident.verdict.primary() == fragmentation);
    CHECK(incident.verdict.qualifiers.has(Qualifier::deferred_free_not_excluded));
}

TEST_CASE("device-free counts as seen at the failure only when nothing was given back in between") {
    RingWriter ring = holed();
    ring.segment(place(2000), 20 * kUnit);
    const uint64_t refused = ring.call_failed(wire::Op::cudaMalloc, 200 * kUnit, 2, true);
    ring.call_free(wire::Op::cudaFree, place(2000));
    const uint64_t observed = ring.mem_info(kCardMiB * kUnit, 100 * kUnit);
    operation(ring, refused, wire::Op::cudaMalloc, 200 * kUnit, 200 * kUnit, observed);
    ring.block_oom(200 * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.device_free == Measure::observed(100 * kUnit));
    CHECK_FALSE(incident.evidence.free_observed_at_failure);
}

TEST_CASE("a driver that refuses although the device has room is the answer") {
    RingWriter ring;
    ring.segment(place(0), 200 * kUnit);
    ring.block_alloc(place(0), 200 * kUnit);
    oom(ring, 100, 700);
    const Incident incident = incident_of(ring);
    CHECK(incident.verdict.qualifiers.has(Qualifier::driver_refused));
    CHECK(incident.verdict.exit_status() == 10);
}

TEST_CASE("a refusal without a device call is a limit, by the segment that was not asked for") {
    RingWriter ring;
    ring.segment(place(0), 200 * kUnit);
    ring.block_alloc(place(0), 200 * kUnit);
    const uint64_t observed = ring.mem_info(kCardMiB * kUnit, 700 * kUnit);
    operation(ring, wire::kNoTicket, wire::Op::none, 0, 0, observed);
    ring.block_oom(5 * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.device_call == DeviceCall::none_made);
    CHECK(incident.evidence.segment_request == Measure::derived(20 * kUnit));
    CHECK(incident.verdict.qualifiers.has(Qualifier::cap));
    CHECK(incident.verdict.primary() == live_set);
}

TEST_CASE("a noted limit is the limit") {
    RingWriter ring = holed(100);
    wire::Record cap = {};
    cap.kind = wire::Kind::cap;
    cap.device = 0;
    cap.link = 910 * kUnit;
    cap.code = 1;
    ring.record(cap);
    oom(ring, 200, 100);
    CHECK(incident_of(ring).evidence.cap == Measure::observed(910 * kUnit));
}

TEST_CASE("a mapping that failed at its first page is counted in all its pages") {
    RingWriter ring;
    // 40 MiB mapped in pages of 20 MiB, the last 30 of them free; 100 MiB asked.
    for (uint64_t page = 0; page < 2; ++page) {
        ring.torch_call(wire::Op::cuMemCreate, 0x100 + page, 20 * kUnit);
        ring.torch_call(wire::Op::cuMemMap, place(20 * page), 20 * kUnit, 0, 0x100 + page);
    }
    ring.block_alloc(place(0), 10 * kUnit);
    const uint64_t refused = ring.call_failed(wire::Op::cuMemCreate, 20 * kUnit, 2, true);
    const uint64_t observed = ring.mem_info(kCardMiB * kUnit, 4 * kUnit);
    operation(ring, refused, wire::Op::cuMemCreate, 20 * kUnit, 20 * kUnit, observed);
    ring.block_oom(100 * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.segment_request == Measure::derived(80 * kUnit));
    CHECK(incident.evidence.releasable == Measure::derived(20 * kUnit));
}

TEST_CASE("a wholly free segment that survived the cache release belongs to a private pool") {
    RingWriter ring = holed();
    ring.segment(place(2000), 60 * kUnit);
    ring.block_alloc(place(2000), 60 * kUnit);
    ring.block_free(place(2000));
    oom(ring, 50, 40);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.extents.incompatible == 60 * kUnit);
    CHECK(incident.evidence.extents.largest_not_excluded == 10 * kUnit);
    CHECK(incident.evidence.releasable == Measure::derived(60 * kUnit));
}

TEST_CASE("a hole whose free completed during the operation is a deferred free, when the torch tap tells") {
    const auto tap = [](wire::Kind kind, uint64_t address, uint64_t size) {
        wire::Record record = {};  // stream 0, default pool
        record.kind = kind;
        record.device = 0;
        record.address = address;
        record.size = size;
        return record;
    };
    RingWriter ring;
    ring.segment(place(0), 200 * kUnit);
    ring.record(tap(wire::Kind::tap_segment_alloc, place(0), 200 * kUnit));
    for (uint64_t at = 0; at < 200; at += 100) {
        ring.record(tap(wire::Kind::tap_alloc, place(at), 100 * kUnit));
        ring.block_alloc(place(at), 100 * kUnit);
    }
    ring.block_free(place(100));
    ring.record(tap(wire::Kind::tap_free_requested, place(100), 100 * kUnit));
    const uint64_t refused = ring.call_failed(wire::Op::cudaMalloc, 80 * kUnit, 2, true);
    ring.record(tap(wire::Kind::tap_free_completed, place(100), 100 * kUnit));
    const uint64_t observed = ring.mem_info(kCardMiB * kUnit, 10 * kUnit);
    operation(ring, refused, wire::Op::cudaMalloc, 80 * kUnit, 80 * kUnit, observed);
    ring.record(tap(wire::Kind::tap_oom, 0, 80 * kUnit));
    ring.block_oom(80 * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.deferred == Measure::observed(0));
    CHECK(incident.evidence.extents.largest_compatible == 100 * kUnit);
    CHECK(incident.evidence.extents.release == HoleRelease::overlaps);
    CHECK(incident.verdict.qualifiers.has(Qualifier::deferred_free));
}

TEST_CASE("another library's refusal is judged against what the cache could give back") {
    RingWriter ring;
    ring.segment(place(0), 800 * kUnit);
    ring.block_alloc(place(0), 100 * kUnit);
    ring.segment(place(1000), 200 * kUnit);
    ring.block_alloc(place(1000), 200 * kUnit);
    ring.block_free(place(1000));
    ring.mem_info(kCardMiB * kUnit, 10 * kUnit);
    ring.library_entry(3, wire::LibraryRole::unknown);
    ring.library = 3;
    const uint64_t refused = ring.call_failed(wire::Op::cudaMalloc, 150 * kUnit, 2, false);
    operation(ring, refused, wire::Op::cudaMalloc, 150 * kUnit, 150 * kUnit, wire::kNoTicket);
    ring.exit(1);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.allocator == FailedAllocator::foreign);
    CHECK_FALSE(incident.evidence.request.known());
    CHECK(incident.evidence.segment_request == Measure::observed(150 * kUnit));
    CHECK_FALSE(incident.evidence.device_free.known());
    CHECK(incident.evidence.releasable == Measure::derived(200 * kUnit));
    CHECK(incident.verdict.qualifiers.has(Qualifier::cache_hoarding));
}

TEST_CASE("the baseline is seen before the failing operation touched the device, or there is none") {
    RingWriter ring;
    ring.segment(place(0), 300 * kUnit);
    const uint64_t report = ring.block_alloc(place(0), 300 * kUnit);
    const uint64_t early = ring.mem_info(kCardMiB * kUnit, 700 * kUnit);
    ring.pin(ring.pinned(0).first_report, report);
    const uint64_t failed = oom(ring, 300, 100);
    ring.pin(ring.pinned(0).first_observation, early);
    CHECK(incident_of(ring).evidence.outside.baseline_outside == Measure::observed(24 * kUnit));
    ring.pin(ring.pinned(0).first_observation, failed - 2);  // the operation's own observation
    CHECK_FALSE(incident_of(ring).evidence.outside.baseline_outside.known());
}

TEST_CASE("bytes of other processes and of named libraries come from samples and driver objects") {
    RingWriter ring = holed();
    ring.library_entry(3, wire::LibraryRole::unknown);
    ring.library = 3;
    ring.foreign_call(wire::Op::cudaMalloc, place(5000), 7 * kUnit);
    ring.library = 0;
    wire::Record sample = {};
    sample.kind = wire::Kind::process_sample;
    sample.device = 0;
    sample.link = 12 * kUnit;
    sample.code = 2;
    ring.record(sample);
    oom(ring, 200, 90);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.outside.others == Measure::observed(12 * kUnit));
    CHECK(incident.evidence.outside.named_bytes == 7 * kUnit);
    CHECK(incident.evidence.outside.named_growth == 7 * kUnit);
}

TEST_CASE("the keyframe alone gives the evidence that the whole ring gave, after any number of laps") {
    const auto job = [](uint32_t ring_records) {
        RingWriterOptions options;
        options.ring_records = ring_records;
        RingWriter ring(options);
        ring.segment(place(0), 900 * kUnit);
        uint64_t first = 0;
        for (uint64_t step = 1; step <= 8; ++step) {
            ring.site = step;
            const uint64_t report = ring.block_alloc(place(step * 40), 20 * kUnit);
            if (step == 1) {
                first = report;
                pin_everything(ring, first, ring.mem_info(kCardMiB * kUnit, 100 * kUnit));
            }
            ring.site = 77;
            ring.block_alloc(place(step * 40 + 20), 4 * kUnit);
            ring.boundary(ring.step(step)).family = static_cast<uint8_t>(wire::Family::step);
        }
        const uint64_t failed = oom(ring, 200, 100);
        ring.keyframe(0, failed, {failed - 4, failed - 3, failed - 2, failed - 1});
        ring.block_alloc(place(700), 200 * kUnit);  // caught: an equally large success
        for (uint64_t round = 0; round < 400; ++round) {
            ring.block_alloc(place(600), kUnit);
            ring.block_free(place(600));
        }
        return ring;
    };
    RingWriter whole = job(4096);
    RingWriter lapped = job(256);
    CHECK(evidence_of(whole, false) == evidence_of(lapped, true));
}

TEST_CASE("without marked steps a lapped failure leaves retention undecidable") {
    RingWriterOptions options;
    options.ring_records = 256;
    RingWriter ring(options);
    ring.segment(place(0), 900 * kUnit);
    ring.block_alloc(place(0), 700 * kUnit);
    const uint64_t failed = oom(ring, 300, 20);
    ring.keyframe(0, failed, {failed - 2, failed - 1});
    for (uint64_t step = 1; step < 800; ++step)
        ring.step(step);
    const Incident incident = incident_of(ring);
    CHECK(incident.from_keyframe);
    CHECK(incident.verdict.of(retention).status == Status::undecidable);
    CHECK(incident.verdict.qualifiers.has(Qualifier::boundaries_lapped));
}

TEST_CASE(
    "memory that was given back unseen stays its library's, also where PyTorch's allocator got it next") {
    RingWriter ring;
    ring.segment(place(0), 20 * kUnit);
    ring.block_alloc(place(0), kUnit);
    ring.mem_info(kCardMiB * kUnit, 900 * kUnit);
    ring.library = 2;
    ring.foreign_call(wire::Op::cudaMalloc, place(500), 40 * kUnit);
    ring.library = 0;
    ring.segment(place(480), 80 * kUnit);
    ring.block_alloc(place(480), 10 * kUnit);
    oom(ring, 700, 500);
    const Outside outside = incident_of(ring).evidence.outside;
    CHECK(outside.named_bytes == 40 * kUnit);
    CHECK(outside.named_growth == 40 * kUnit);
}
