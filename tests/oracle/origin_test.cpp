// SPDX-License-Identifier: Apache-2.0
//
// Recordings whose events PyTorch's own tools told. Rule: each test changes one word or record, and asks the
// one field that hangs on it.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

constexpr u64 kOriginAt = 356, kStatedAt = 360;
constexpr u64 kUnknown = ~u64{0};
constexpr u16 kSomePool = 3, kPoolNotKnown = 65535;

struct Tap {
    u64 stream = 0;
    u16 pool = 0;
    u64 free_bytes = 6 * kMiB;
    u64 requested_bytes = kUnknown;
    u16 thread = 1;
};

Fields tap_oom(const Tap& tap) {
    return {.kind = kTapOom,
            .thread = tap.thread,
            .address = tap.requested_bytes,
            .size = 8 * kMiB,
            .link = tap.free_bytes,
            .extra = tap.stream,
            .extra16 = tap.pool};
}

// A segment of 20 MiB with 2 MiB in use at its begin and 6 MiB at 10 MiB: a hole of 8 MiB, and one of 4.
struct Told {
    Job job;
    u64 last_alloc = 0;

    explicit Told(u32 origin, const Tap& segment = {}) {
        job.ring.put(kOriginAt, origin, 4);
        job.ring.put(576, 1, 8);  // a loss: the live table has another segment
        job.ring.segment(at(0), 20 * kMiB);
        job.ring.record({.kind = kTapSegmentAlloc,
                         .address = at(0),
                         .size = 20 * kMiB,
                         .extra = segment.stream,
                         .extra16 = segment.pool});
        job.ring.alloc(at(0), 2 * kMiB);
        last_alloc = job.ring.alloc(at(10), 6 * kMiB);
    }
    static u64 at(u64 mib) { return kSegmentAt + kGiB + mib * kMiB; }
    void completed(u64 mib) {
        job.ring.record({.kind = kTapFreeCompleted, .address = at(mib), .size = kMiB});
    }
    Json fail(u64 request = 8 * kMiB) {
        Options last;  // of a chain
        last.choice.ticket = job.ring.record(job.ring.report(kBlockOom, 0, request, 9));
        auto result = examine(job.ring.bytes(), last);
        REQUIRE(result);
        return result->document;
    }
    Json fail(const Tap& tap, u64 request = 8 * kMiB) {
        job.ring.record(tap_oom(tap));
        return fail(request);
    }
};

std::string compatibility_of_hole(const Json& document) {
    for (const auto& row : list(document["evidence"]["extents"], "rows")) {
        const auto& cells = *row.array();
        if (*cells[5].text() == "free" && *cells[2].number() == Int{8 * kMiB}) return *cells[6].text();
    }
    return "no hole";
}
std::string device_call(u32 origin) {
    Told told(origin);
    told.job.ring.record({.kind = kOperation, .link = kUnknown, .extra = kUnknown});
    return *told.fail()["evidence"]["failure"]["device_call"].text();
}
bool qualified(const Json& document, const std::string& word) {
    const auto& words = list(document["verdict"], "qualifiers");
    return std::find(words.begin(), words.end(), Json(word)) != words.end();
}

}  // namespace

TEST_CASE("the capture tells who told the events, and whether a person told the total") {
    for (auto [origin, word] : {std::pair(0U, "recorder"), std::pair(1U, "torch_snapshot"),
                                std::pair(2U, "profiler_trace"), std::pair(3U, "unknown")})
        CHECK(Told(origin).fail()["capture"]["origin"] == Json(word));
    Told told(1);
    CHECK(told.fail()["capture"]["total_stated"] == Json(false));
    told.job.ring.put(kStatedAt, 2, 4);
    CHECK(told.job.document()["capture"]["total_stated"] == Json(false));
    told.job.ring.put(kStatedAt, 3, 4);
    CHECK(told.job.document()["capture"]["total_stated"] == Json(true));
}

TEST_CASE("only the recorder knows that no device call was made") {
    CHECK(device_call(0) == "none_made");
    CHECK(device_call(1) == "unknown");
    CHECK(device_call(9) == "unknown");
}

TEST_CASE("device-free is what the allocator's own trace tells, as long as it tells any") {
    auto ledgers = Told(1).fail(Tap{})["evidence"]["ledgers"];
    CHECK(ledgers["device_free_bytes"] == Json(Int{6 * kMiB}));
    CHECK(ledgers["total_bytes"].is_null());
    CHECK(ledgers["outside_bytes"].is_null());
    CHECK(ledgers["threshold_bytes"].is_null());
    CHECK(ledgers["margin_bytes"] == Json(Int{6 + 420 - 8 - 8} * Int{kMiB}));
    auto document = Told(1).fail(Tap{.free_bytes = kUnknown});
    CHECK(document["evidence"]["ledgers"]["device_free_bytes"].is_null());
    CHECK(document["verdict"]["numbers"].is_null());
}

TEST_CASE("an observation of the device tells the total beside the trace's device-free") {
    Told told(1);
    told.job.ring.record({.kind = kMemInfo, .size = kGiB, .link = 5 * kMiB, .call = 53});
    auto ledgers = told.fail(Tap{})["evidence"]["ledgers"];
    CHECK(ledgers["total_bytes"] == Json(Int{kGiB}));
    CHECK(ledgers["device_free_bytes"] == Json(Int{6 * kMiB}));
}

TEST_CASE("the observation that the operation names goes before the trace's") {
    Told told(0);
    u64 refused = told.job.ring.record({.kind = kFail, .size = 8 * kMiB, .call = 1, .code = 2});
    u64 seen = told.job.ring.record({.kind = kMemInfo, .size = kGiB, .link = 5 * kMiB, .call = 53});
    told.job.ring.record({.kind = kOperation,
                          .address = 8 * kMiB,
                          .size = 8 * kMiB,
                          .link = refused,
                          .extra = seen,
                          .extra16 = 1,
                          .call = 1,
                          .code = 2});
    CHECK(told.fail(Tap{})["evidence"]["ledgers"]["device_free_bytes"] == Json(Int{5 * kMiB}));
}

TEST_CASE("a failure's tap_oom is the last before it, not an older failure's and not another thread's") {
    Told told(1);
    auto device_free = [](const Json& document) {
        return document["evidence"]["ledgers"]["device_free_bytes"];
    };
    CHECK(device_free(told.fail(Tap{.free_bytes = kMiB}, 800 * kMiB)) == Json(Int{kMiB}));
    CHECK(device_free(told.fail(Tap{.free_bytes = 2 * kMiB}, 900 * kMiB)) == Json(Int{2 * kMiB}));
    CHECK(device_free(told.fail(900 * kMiB)).is_null());
    CHECK(device_free(told.fail(Tap{.free_bytes = 3 * kMiB, .thread = 2}, 900 * kMiB)).is_null());
}

TEST_CASE("a tap_oom counts up to 64 tickets before the failure") {
    for (int apart : {64, 65}) {
        Told told(1);
        told.job.ring.record(tap_oom({}));
        for (int i = 1; i < apart; ++i)
            told.job.ring.record({.kind = kMark, .device = -1});
        auto free = told.fail()["evidence"]["ledgers"]["device_free_bytes"];
        CHECK(free == (apart == 64 ? Json(Int{6 * kMiB}) : Json()));
    }
}

TEST_CASE("a pool that is not known settles nothing, a stream beside it does") {
    CHECK(compatibility_of_hole(Told(1).fail(Tap{})) == "compatible");
    CHECK(compatibility_of_hole(Told(1, {.pool = kSomePool}).fail(Tap{})) == "incompatible");
    CHECK(compatibility_of_hole(Told(1, {.pool = kPoolNotKnown}).fail(Tap{})) == "unknown");
    CHECK(compatibility_of_hole(Told(1).fail(Tap{.pool = kPoolNotKnown})) == "unknown");
    CHECK(compatibility_of_hole(Told(1, {.pool = kPoolNotKnown}).fail(Tap{.pool = kPoolNotKnown})) ==
          "unknown");
    CHECK(compatibility_of_hole(Told(1, {.stream = 7, .pool = kPoolNotKnown}).fail(Tap{})) == "incompatible");
}

TEST_CASE("a segment that is told again has the stream and pool told last") {
    Told told(0, {.pool = kPoolNotKnown});
    told.job.ring.record(
        {.kind = kTapSegmentAlloc, .address = Told::at(0), .size = 20 * kMiB, .extra16 = 0, .code = 1});
    CHECK(compatibility_of_hole(told.fail(Tap{})) == "compatible");
    told.job.ring.record(
        {.kind = kTapSegmentMap, .address = Told::at(0), .size = 20 * kMiB, .extra16 = kSomePool, .code = 1});
    CHECK(compatibility_of_hole(told.fail(Tap{})) == "incompatible");
}

TEST_CASE(
    "a wholly free segment of unknown pool is given back before a failure, one of a known pool is not") {
    for (u16 pool : {kPoolNotKnown, u16{0}}) {
        Told told(1);
        told.job.ring.record(
            {.kind = kOk, .flags = kFromAllocator, .address = Told::at(100), .size = 8 * kMiB, .call = 1});
        told.job.ring.record(
            {.kind = kTapSegmentAlloc, .address = Told::at(100), .size = 8 * kMiB, .extra16 = pool});
        auto incompatible = told.fail(Tap{})["evidence"]["ledgers"]["incompatible_free_bytes"];
        Int untold = 400 * Int{kMiB};  // the job's own segment
        CHECK(incompatible == Json(pool == 0 ? untold : untold + 8 * Int{kMiB}));
    }
}

TEST_CASE(
    "where nobody told of calls a hole was there too late when it was freed after the last allocation") {
    {
        Told late(1);
        late.completed(3);
        CHECK(qualified(late.fail(Tap{}), "deferred_free"));
    }
    {
        Told early(1);
        early.completed(3);
        early.job.ring.alloc(Told::at(18), kMiB);
        CHECK(qualified(early.fail(Tap{}), "fit_ignored"));
    }
    {
        Told elsewhere(1);
        elsewhere.completed(17);
        CHECK(qualified(elsewhere.fail(Tap{}), "fit_ignored"));
    }
    {
        // Of the recorder's own file the refused call decides, and none was told.
        Told recorded(0);
        recorded.completed(3);
        CHECK(qualified(recorded.fail(Tap{}), "deferred_free_possible"));
    }
}

TEST_CASE("at the failure device-free is known and what it is free of is not") {
    auto document = Told(1).fail(Tap{});
    const auto& balance = list(document["evidence"], "holders")[1];
    CHECK(balance["source"] == Json("observed"));
    CHECK(balance["free_bytes"] == Json(Int{6 * kMiB}));
    CHECK(balance["total_bytes"].is_null());
    CHECK(balance["unattributed_bytes"].is_null());
}

TEST_CASE(
    "the next step is to state the card's size where the recorder cannot be asked for it, and another one "
    "where it is wrong") {
    constexpr u64 kNoHoleHoldsIt = 9 * kMiB;
    auto probe = [](const Json& document) {
        return document["verdict"]["hypotheses"]["fragmentation"]["probe"];
    };
    CHECK(probe(Told(1).fail(Tap{}, kNoHoleHoldsIt)) ==
          Json("the card's size is unknown: give it with --card"));
    for (u32 origin : {0U, 2U})
        CHECK(probe(Told(origin).fail(Tap{}, kNoHoleHoldsIt)) ==
              Json("the card's size was never observed: let the program ask cudaMemGetInfo, or sample the "
                   "device"));
    Told wrong(1);
    wrong.job.ring.put(kStatedAt, 1, 4);
    wrong.job.ring.record({.kind = kMemInfo, .size = 400 * kMiB, .link = 0, .call = 53});
    CHECK(probe(wrong.fail(Tap{}, kNoHoleHoldsIt)) ==
          Json("the numbers and the stated size of the card contradict each other: give another with "
               "--card"));
}

TEST_CASE("a block that was live before the first event has the site that is told with it") {
    for (u64 site : {u64{0}, u64{77}}) {
        RingBuilder ring;
        ring.put(kOriginAt, 1, 4);
        ring.put(312, 1, 4);
        ring.record({.kind = kInitialSegment, .flags = kFromAllocator, .address = kSegmentAt, .size = kGiB});
        ring.record({.kind = kInitial, .address = kSegmentAt, .size = kMiB, .link = site});
        auto report = ring.report(kBlockOom, 0, kGiB, 9);
        report.allocated = kMiB;
        report.reserved = kGiB;
        ring.record(report);
        auto result = examine(ring.bytes());
        REQUIRE(result);
        CHECK(list(result->document["evidence"], "sites")[0]["has_stack"] == Json(site != 0));
        CHECK(list(result->document["dictionary"], "sites").size() == (site != 0 ? 1 : 0));
    }
}
