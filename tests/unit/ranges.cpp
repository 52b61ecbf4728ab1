// SPDX-License-Identifier: Apache-2.0
//
// Ranges of a thread and what they say of a birth, with ends that anybody may have written.
#include "ranges.h"
#include "catch.h"

using namespace memsnap;

namespace {

Event range_event(Kind kind, uint64_t ticket, uint16_t thread, RangeFamily family, uint16_t name = 0) {
    Event event;
    event.kind = kind;
    event.ticket = ticket;
    event.thread = thread;
    event.code = static_cast<uint16_t>(family);
    event.link = name;
    return event;
}

Event end_of(uint64_t begin_ticket, uint64_t ticket, uint16_t thread) {
    Event event = range_event(Kind::phase_end, ticket, thread, RangeFamily::range);
    event.address = begin_ticket;
    return event;
}

}  // namespace

TEST_CASE("a million ranges that end from the outside in leave nothing open, in time that grows with them") {
    constexpr uint64_t kCount = 1'000'000;
    Ranges ranges;
    for (uint64_t i = 0; i < kCount; ++i)
        ranges.begin(
            range_event(Kind::phase_begin, i, 1, RangeFamily::range, static_cast<uint16_t>(i % 7 + 1)));
    CHECK(ranges.begun_count() == kCount);
    for (uint64_t i = 0; i + 1 < kCount; ++i)
        ranges.end(end_of(i, kCount + i, 1));
    CHECK(ranges.phase_on(1) == (kCount - 1) % 7 + 1);
    CHECK(ranges.phase_on(2) == (kCount - 1) % 7 + 1);
    ranges.end(end_of(kCount - 1, 2 * kCount, 1));
    CHECK(ranges.phase_on(1) == 0);
    CHECK(ranges.phase_on(2) == 0);
}

TEST_CASE("an end that names no open range of its thread ends nothing") {
    Ranges ranges;
    ranges.begin(range_event(Kind::phase_begin, 5, 1, RangeFamily::range, 3));
    for (const uint64_t named : {uint64_t{0}, uint64_t{4}, uint64_t{6}, kNoTicket, uint64_t{1} << 40})
        CHECK_FALSE(ranges.end(end_of(named, 10, 1)));
    CHECK_FALSE(ranges.end(end_of(5, 11, 2)));
    CHECK_FALSE(ranges.end(end_of(5, 11, UINT16_MAX)));
    CHECK(ranges.phase_on(1) == 3);
}

TEST_CASE(
    "collections are told apart from labels, and only the end of an open one is an end of a collection") {
    Ranges ranges;
    ranges.begin(range_event(Kind::phase_begin, 1, 1, RangeFamily::collection, 9));
    ranges.begin(range_event(Kind::phase_begin, 2, 1, RangeFamily::none, 4));
    CHECK(ranges.phase_on(1) == 4);
    CHECK(ranges.in_collection(1));
    CHECK_FALSE(ranges.in_collection(2));
    CHECK_FALSE(ranges.end(end_of(2, 3, 1)));
    CHECK(ranges.phase_on(1) == 0);
    CHECK(ranges.end(end_of(1, 4, 1)));
    CHECK_FALSE(ranges.end(end_of(1, 5, 1)));
    CHECK_FALSE(ranges.in_collection(1));
}

TEST_CASE(
    "a thread without ranges has the phase of the only thread with one open, of threads beyond any table "
    "too") {
    Ranges ranges;
    ranges.begin(range_event(Kind::phase_begin, 1, UINT16_MAX, RangeFamily::optimizer, 7));
    CHECK(ranges.phase_on(1) == 7);
    ranges.begin(range_event(Kind::phase_begin, 2, 0, RangeFamily::range, 8));
    CHECK(ranges.phase_on(1) == 0);
    ranges.end(end_of(1, 3, UINT16_MAX));
    CHECK(ranges.phase_on(1) == 8);
    CHECK(ranges.phase_on(UINT16_MAX) == 0);
    ranges.begin(range_event(Kind::phase_begin, 4, 3, RangeFamily::module, 5));
    ranges.begin(range_event(Kind::phase_begin, 5, 3, static_cast<RangeFamily>(77), 6));
    CHECK(ranges.phase_on(3) == 8);
}
