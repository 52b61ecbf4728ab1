// SPDX-License-Identifier: Apache-2.0
//
// Which of a job's failures is the incident, and what only looked like one.
#include "failing_job.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

constexpr uint64_t kRequest_MiB = 100;

RingWriter job() {
    RingWriter ring;
    ring.segment(place(0), 400 * kUnit);
    ring.block_alloc(place(0), 50 * kUnit);
    return ring;
}

}  // namespace

TEST_CASE("an OOM that nothing follows is fatal") {
    RingWriter ring = job();
    const uint64_t failed = oom(ring, kRequest_MiB, 20);
    ring.block_free(place(0));
    ring.exit(1);
    const Incident incident = incident_of(ring);
    CHECK(incident.failure.event.ticket == failed);
    CHECK(incident.evidence.fatal);
    CHECK_FALSE(incident.evidence.survived);
}

TEST_CASE("an equally large success of the same thread ends an OOM's scope, nothing less does") {
    const auto followed_by = [](uint64_t size_MiB, uint16_t thread, int device) {
        RingWriter ring = job();
        oom(ring, kRequest_MiB, 20);
        ring.thread = thread;
        ring.segment(place(1000), 200 * kUnit, device);
        ring.block_alloc(place(1000), size_MiB * kUnit, device);
        return failures_of(ring).listed.front().followed;
    };
    CHECK(followed_by(kRequest_MiB, 1, 0));
    CHECK_FALSE(followed_by(kRequest_MiB - 1, 1, 0));
    CHECK_FALSE(followed_by(kRequest_MiB, 2, 0));
    CHECK_FALSE(followed_by(kRequest_MiB, 1, 1));
}

TEST_CASE("only a boundary whose range was opened after the OOM ends its scope") {
    RingWriter ring = job();
    const uint64_t before = ring.step(1);
    const uint64_t failed = oom(ring, kRequest_MiB, 20);
    const uint64_t closing = ring.step(2);
    ring.boundary(closing).opened_ticket = before;
    ring.boundary(ring.step(3));  // not known when it was opened
    CHECK_FALSE(failures_of(ring).listed.front().followed);
    ring.boundary(ring.step(4)).opened_ticket = failed + 1;
    CHECK(failures_of(ring).listed.front().followed);
}

TEST_CASE("of a chain of OOMs the first is the incident") {
    RingWriter ring = job();
    const uint64_t first = oom(ring, kRequest_MiB, 20);
    oom(ring, kRequest_MiB / 2, 20);
    oom(ring, kRequest_MiB / 4, 20);
    const Incident incident = incident_of(ring);
    CHECK(incident.failure.event.ticket == first);
}

TEST_CASE("a chain whose last failure nothing follows is fatal, though a success covers its first") {
    RingWriter ring = job();
    const uint64_t first = oom(ring, kRequest_MiB, 20);
    oom(ring, 2 * kRequest_MiB, 20);
    ring.block_alloc(place(100), kRequest_MiB * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.failure.event.ticket == first);
    CHECK(incident.evidence.fatal);
}

TEST_CASE("a job that ended with status 0 survived every failure, whatever it did next") {
    RingWriter ring = job();
    oom(ring, kRequest_MiB, 20);
    ring.block_free(place(0));
    ring.exit(0);
    CHECK(incident_of(ring).evidence.survived);
}

TEST_CASE("a later chain that nothing follows is chosen before an earlier one that was caught") {
    RingWriter ring = job();
    oom(ring, kRequest_MiB, 20);
    ring.block_alloc(place(100), kRequest_MiB * kUnit);
    const uint64_t last = oom(ring, 2 * kRequest_MiB, 20);
    CHECK(incident_of(ring).failure.event.ticket == last);
}

TEST_CASE("when every failure was caught the first is shown as survived") {
    RingWriter ring = job();
    const uint64_t first = oom(ring, kRequest_MiB, 20);
    ring.block_alloc(place(100), kRequest_MiB * kUnit);
    oom(ring, kRequest_MiB, 20);
    ring.block_alloc(place(200), kRequest_MiB * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.failure.event.ticket == first);
    CHECK(incident.evidence.survived);
}

TEST_CASE("the device and the failure to explain can be asked for") {
    RingWriter ring = job();
    const uint64_t first = oom(ring, kRequest_MiB, 20, 0);
    ring.segment(place(3000), 400 * kUnit, 1);
    ring.block_alloc(place(3000), 50 * kUnit, 1);
    const uint64_t other = oom(ring, kRequest_MiB, 20, 1);
    CHECK(incident_of(ring, {.device = 0, .at_ticket = std::nullopt}).failure.event.ticket == first);
    CHECK(incident_of(ring, {.device = 1, .at_ticket = std::nullopt}).failure.event.ticket == other);
    CHECK(incident_of(ring, {.device = std::nullopt, .at_ticket = first}).failure.event.ticket == first);
    CHECK(analysed(ring, {.device = std::nullopt, .at_ticket = first - 1})
              .error.starts_with("no_such_failure"));
}

TEST_CASE("a refusal that the allocator recovered from is no incident") {
    RingWriter ring = job();
    const uint64_t refused = ring.call_failed(wire::Op::cudaMalloc, kRequest_MiB * kUnit, 2, true);
    ring.call_failed(wire::Op::cudaMalloc, kRequest_MiB * kUnit, 2, true);
    ring.block_alloc(place(100), 10 * kUnit);
    const Failures failures = failures_of(ring);
    CHECK(failures.listed.empty());
    REQUIRE(failures.near_misses.size() == 1);
    CHECK(failures.near_misses[0].kind == NearMiss::Kind::recovered);
    CHECK(failures.near_misses[0].ticket == refused);
    CHECK(failures.near_misses[0].failed_calls_count == 2);
}

TEST_CASE("a library's refusal is an incident unless it was served later or the job ended well") {
    const auto after_refusal = [](auto&& then) {
        RingWriter ring = job();
        ring.library_entry(3, wire::LibraryRole::unknown);
        ring.library = 3;
        ring.call_failed(wire::Op::cudaMalloc, kRequest_MiB * kUnit, 2, false);
        then(ring);
        return failures_of(ring);
    };
    CHECK(after_refusal([](RingWriter&) {}).listed.size() == 1);
    CHECK(after_refusal([](RingWriter& ring) { ring.exit(1); }).listed.size() == 1);
    const Failures ended = after_refusal([](RingWriter& ring) { ring.exit(0); });
    CHECK(ended.listed.empty());
    REQUIRE(ended.near_misses.size() == 1);
    CHECK(ended.near_misses[0].kind == NearMiss::Kind::probe);
    const auto served = [](uint16_t library, wire::Op op) {
        return [library, op](RingWriter& ring) {
            ring.library_entry(4, wire::LibraryRole::unknown);
            ring.library = library;
            ring.foreign_call(op, place(5000), kUnit);
        };
    };
    CHECK(after_refusal(served(3, wire::Op::cudaMalloc)).listed.empty());
    CHECK(after_refusal(served(4, wire::Op::cudaMalloc)).listed.size() == 1);
    CHECK(after_refusal(served(3, wire::Op::cudaMallocHost)).listed.size() == 1);  // no device memory
}

TEST_CASE("a refusal for another reason than memory is no failure") {
    RingWriter ring = job();
    ring.call_failed(wire::Op::cudaMalloc, kUnit, 1, false);
    ring.call_failed(wire::Op::cudaMallocHost, kUnit, 2, false);
    CHECK(failures_of(ring).listed.empty());
}

TEST_CASE("with caching disabled PyTorch's refused call is its failure") {
    RingWriter ring;
    ring.header().config.flags |= wire::kConfigCachingDisabled;
    ring.torch_call(wire::Op::cudaMalloc, place(0), 900 * kUnit);
    ring.mem_info(kCardMiB * kUnit, 50 * kUnit);
    ring.call_failed(wire::Op::cudaMalloc, kRequest_MiB * kUnit, 2, true);
    ring.exit(1);
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.allocator == FailedAllocator::pytorch_uncached);
    CHECK(incident.evidence.request == Measure::observed(kRequest_MiB * kUnit));
    CHECK(incident.evidence.allocated.low == 900 * kUnit);
    CHECK(incident.evidence.reserved.low == 900 * kUnit);
    CHECK(incident.verdict.primary() == Hypothesis::live_set);
}

TEST_CASE("a failure on a card whose size nobody observed is undecided and says what to ask") {
    RingWriter ring = job();
    ring.block_oom(kRequest_MiB * kUnit);
    const Incident incident = incident_of(ring);
    CHECK(incident.verdict.exit_status() == 11);
    CHECK(incident.explanations[0].probe.starts_with("the card's size was never observed"));
}
