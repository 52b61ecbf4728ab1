// SPDX-License-Identifier: Apache-2.0
//
// Boundaries from the heartbeat of a loop, and what growth across them is worth.
#include "failing_job.h"

using namespace memsnap;
using namespace memsnap::test;
using enum Hypothesis;

namespace {

constexpr uint16_t kForward = 1;
constexpr uint16_t kBackward = 2;

struct Loop {
    uint64_t steps = 32;
    bool alternates = true;
    uint64_t kept_MiB = 0;           // a step leaves this behind
    uint64_t steps_that_keep = 999;  // of them
};

// Each step makes and drops an activation of 5 MiB and a gradient of 3 MiB, the latter on the backward
// thread.
RingWriter train(const Loop& loop) {
    RingWriterOptions options;
    options.ring_records = 4096;
    RingWriter ring(options);
    ring.thread = kForward;
    ring.segment(place(0), 100 * kUnit);
    ring.block_alloc(place(0), 50 * kUnit);
    ring.segment(place(1000), 850 * kUnit);
    for (uint64_t step = 0; step < loop.steps; ++step) {
        ring.site = 11;
        ring.block_alloc(place(60), 5 * kUnit);
        if (loop.kept_MiB != 0 && step < loop.steps_that_keep) {
            ring.site = 12;
            ring.block_alloc(place(1000 + step * loop.kept_MiB), loop.kept_MiB * kUnit);
        }
        ring.thread = loop.alternates ? kBackward : kForward;
        ring.site = 13;
        ring.block_alloc(place(70), 3 * kUnit);
        ring.block_free(place(60));
        ring.block_free(place(70));
        ring.thread = kForward;
        ring.site = 14;
        ring.block_alloc(place(80), kUnit);
        ring.block_free(place(80));
    }
    ring.site = 11;
    oom(ring, 400, 20);
    return ring;
}

}  // namespace

TEST_CASE("a training loop's boundaries are inferred and certified by forward and backward alternating") {
    RingWriter ring = train({.kept_MiB = 25});
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.growth.basis == GrowthBasis::certified);
    CHECK(incident.evidence.growth.boundary_count == 16);
    // Two steps a run: survivors of runs 3 to 15 count, those of warm-up and of the last run do not.
    CHECK(incident.evidence.growth.retained >= 24 * 25 * kUnit);
    CHECK(incident.evidence.growth.retained < 32 * 25 * kUnit);
    CHECK(incident.verdict.primary() == retention);
    CHECK(incident.verdict.of(retention).qualifiers.has(Qualifier::inferred));
}

TEST_CASE("a loop on one thread may be a loop over layers: its growth decides nothing") {
    RingWriter ring = train({.alternates = false, .kept_MiB = 25});
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.growth.basis == GrowthBasis::uncertified);
    CHECK(incident.verdict.of(retention).status == Status::undecidable);
    CHECK(incident.verdict.primary() == live_set);
    CHECK(incident.verdict.qualifiers.has(Qualifier::growth_unmarked));
}

TEST_CASE("a loop that keeps nothing retains nothing") {
    RingWriter ring = train({});
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.growth.basis == GrowthBasis::certified);
    CHECK(incident.evidence.growth.retained == 0);
    CHECK(incident.verdict.of(retention).status == Status::rejected);
}

TEST_CASE("survivors that stopped growing are not retention") {
    RingWriter ring = train({.kept_MiB = 25, .steps_that_keep = 20});
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.growth.growing_pairs_count < 4);
    CHECK(incident.evidence.growth.retained == 0);
}

TEST_CASE("boundaries are inferred from 32 block events on") {
    const auto basis = [](uint64_t events) {
        RingWriter ring;
        ring.segment(place(0), 900 * kUnit);
        for (uint64_t event = 0; event < events; ++event) {
            if (event % 2 == 0) {
                ring.block_alloc(place(0), 5 * kUnit);
            } else {
                ring.block_free(place(0));
            }
        }
        oom(ring, 950, 20);
        return incident_of(ring).evidence.growth.basis;
    };
    CHECK(basis(32) == GrowthBasis::uncertified);
    CHECK(basis(31) == GrowthBasis::too_few);
}

TEST_CASE("without boundaries all that is live may have been retained") {
    RingWriter ring = train({.steps = 4});
    const Incident incident = incident_of(ring);
    CHECK(incident.evidence.growth.basis == GrowthBasis::too_few);
    CHECK(incident.evidence.growth.boundary_count == 0);
    CHECK(incident.evidence.growth.retained == 50 * kUnit);
}

TEST_CASE("a heartbeat that stopped early infers no boundary") {
    RingWriterOptions options;
    options.ring_records = 4096;
    RingWriter late(options);
    late.segment(place(0), 900 * kUnit);
    late.site = 11;
    for (int beat = 0; beat < 20; ++beat) {
        late.block_alloc(place(0), 5 * kUnit);
        late.block_free(place(0));
    }
    late.site = 12;
    for (uint64_t at = 0; at < 100; ++at)
        late.block_alloc(place(10 + at), kUnit);
    oom(late, 400, 20);
    CHECK(incident_of(late).evidence.growth.basis == GrowthBasis::too_few);
}

TEST_CASE("blocks born before a caught failure are kept since it, not retained") {
    RingWriterOptions options;
    options.ring_records = 4096;
    RingWriter ring(options);
    ring.segment(place(0), 900 * kUnit);
    const auto marked_step = [&](uint64_t step) {
        ring.site = 12;
        ring.block_alloc(place(step * 20), 20 * kUnit);
        const uint64_t closing = ring.step(step);
        ring.boundary(closing).family = static_cast<uint8_t>(wire::Family::step);
    };
    for (uint64_t step = 1; step <= 6; ++step)
        marked_step(step);
    ring.site = 20;
    oom(ring, 100, 20);
    ring.block_alloc(place(500), 100 * kUnit);  // the retry succeeds: the failure's scope has ended
    ring.block_free(place(500));
    for (uint64_t step = 7; step <= 14; ++step)
        marked_step(step);
    const uint64_t last = oom(ring, 700, 20);
    const Incident incident = incident_of(ring);
    CHECK(incident.failure.event.ticket == last);
    // Born between the second boundary and the first failure: steps 3 to 6; after it and judged: steps 7
    // to 13.
    CHECK(incident.evidence.growth.kept_since_failure == 4 * 20 * kUnit);
    CHECK(incident.evidence.growth.retained == 7 * 20 * kUnit);
}

TEST_CASE("the same request served within the last five steps is the counterfactual of a slow leak") {
    const auto job = [](uint64_t request_MiB) {
        RingWriter ring;
        ring.segment(place(0), 900 * kUnit);
        for (uint64_t step = 1; step <= 10; ++step) {
            ring.site = 12;
            ring.block_alloc(place(step), kUnit);
            ring.site = 11;
            ring.block_alloc(place(100), 50 * kUnit);
            ring.block_free(place(100));
            ring.boundary(ring.step(step)).family = static_cast<uint8_t>(wire::Family::step);
        }
        oom(ring, request_MiB, 20);
        return incident_of(ring).evidence.growth.request_repeated;
    };
    CHECK(job(50));
    CHECK_FALSE(job(51));
}

TEST_CASE("blocks of no size, tolerated at a late start, count as events of the loop they lie in") {
    RingWriter ring;
    ring.header().start_mode = wire::StartMode::late;
    ring.segment(place(0), 900 * kUnit);
    for (uint64_t beat = 0; beat < 20; ++beat) {
        ring.site = 11;
        ring.block_alloc(place(0), 5 * kUnit);
        ring.block_free(place(0));
        ring.site = 12;
        ring.block_alloc(place(100 + beat), 0);
        ring.block_alloc(place(200 + beat), 0);
    }
    oom(ring, 950, 20);
    CHECK(incident_of(ring).evidence.growth.basis == GrowthBasis::uncertified);
    CHECK(incident_of(ring).evidence.growth.boundary_count == 16);
}
