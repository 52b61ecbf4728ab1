// SPDX-License-Identifier: Apache-2.0
//
// Small recorded jobs for the tests of incident, evidence and what follows: a card of 1 GiB (threshold 15 MiB
// and a bit), blocks of whole MiB.
#pragma once

#include <cstring>
#include <string>

#include "analysis.h"
#include "catch.h"
#include "ring_fixture.h"

namespace memsnap::test {

inline constexpr uint64_t kCardMiB = 1024;
inline constexpr uint64_t kUnit = uint64_t{1} << 20;  // MiB; blocks and requests of these jobs count in it

// `operation`, as the failing thread writes it just before its OOM report or just after a foreign refusal.
inline uint64_t operation(RingWriter& ring, uint64_t refused_ticket, wire::Op op, uint64_t refused_bytes,
                          uint64_t attempted_bytes, uint64_t observation_ticket, int device = 0) {
    wire::Record record = {};
    record.kind = wire::Kind::operation;
    record.device = static_cast<int8_t>(device);
    record.op = op;
    record.code = 2;
    record.address = refused_bytes;
    record.size = attempted_bytes;
    record.link = refused_ticket;
    const uint16_t count = refused_ticket == wire::kNoTicket ? 0 : 1;
    std::memcpy(record.tail, &observation_ticket, 8);
    std::memcpy(record.tail + 8, &count, 2);
    return ring.record(record);
}

// A refused cudaMalloc, the observation after it, the operation and the report; returns the report's ticket.
inline uint64_t oom(RingWriter& ring, uint64_t request_MiB, uint64_t free_MiB, int device = 0) {
    const uint64_t request = request_MiB * kUnit;
    const uint64_t refused = ring.call_failed(wire::Op::cudaMalloc, request, 2, true, device);
    const uint64_t observed = ring.mem_info(kCardMiB * kUnit, free_MiB * kUnit, device);
    operation(ring, refused, wire::Op::cudaMalloc, request, request, observed, device);
    return ring.block_oom(request, device);
}

inline uint64_t place(uint64_t offset_MiB) {
    return kBase + offset_MiB * kUnit;
}

struct Analysed {
    std::unique_ptr<Capture> capture;
    std::optional<Analysis> analysis;
    std::string error;
};

inline Analysed analysed(RingWriter& ring, const AnalysisOptions& options = {}) {
    Analysed result;
    auto capture = read(ring);
    if (!capture) {
        result.error = capture.error().rule + ": " + capture.error().detail;
        return result;
    }
    result.capture = std::make_unique<Capture>(std::move(*capture));
    auto analysis = analyse(*result.capture, options);
    if (analysis) {
        result.analysis = std::move(*analysis);
    } else {
        result.error = analysis.error().rule + ": " + analysis.error().detail;
    }
    return result;
}

// The incident of a ring that must have one.
inline Incident incident_of(RingWriter& ring, const AnalysisOptions& options = {}) {
    Analysed result = analysed(ring, options);
    INFO(result.error);
    REQUIRE(result.analysis);
    REQUIRE(result.analysis->incident);
    return std::move(*result.analysis->incident);
}

inline Failures failures_of(RingWriter& ring) {
    Result<Capture> capture = read(ring);
    REQUIRE(capture);
    return find_failures(*capture);
}

}  // namespace memsnap::test
