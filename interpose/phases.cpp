// SPDX-License-Identifier: Apache-2.0
#include "phases.h"

#include "boundaries.h"
#include "steps.h"

namespace memsnap::recorder {
namespace {

// In the handle of a range that has no place.
constexpr uint64_t kDeeperBit = uint64_t{1} << 63;
// In Recorder::labelling, above the sum of the threads' indices.
constexpr uint64_t kOneThread = uint64_t{1} << 32;

// Survives fork: a handle that a child inherited means nothing to it, and must not name a range of its own.
std::atomic<uint64_t> g_last_handle{0};

uint16_t innermost_label(const OpenRanges& ranges) {
    const uint32_t count = ranges.count.load(std::memory_order_acquire);
    uint64_t last_handle = 0;
    uint16_t label = 0;
    for (uint32_t i = 0; i < count && i < OpenRanges::kCapacity; ++i) {
        const uint64_t handle = ranges.places[i].handle.load(std::memory_order_acquire);
        if (handle <= last_handle) continue;
        const Range range = ranges.range(i);
        if (!range.labels()) continue;
        last_handle = handle;
        label = range.names.folded;
    }
    return label;
}

void start_labelling(Recorder& recorder, uint16_t thread, OpenRanges& ranges) {
    ranges.has_labelled = true;
    if (ranges.labelling_count.fetch_add(1, std::memory_order_relaxed) == 0)
        recorder.labelling.fetch_add(kOneThread + thread, std::memory_order_release);
}

void stop_labelling(Recorder& recorder, uint16_t thread, OpenRanges& ranges) {
    if (ranges.labelling_count.fetch_sub(1, std::memory_order_relaxed) == 1)
        recorder.labelling.fetch_sub(kOneThread + thread, std::memory_order_release);
}

// Closed places at the end are used again.
void trim(OpenRanges& ranges) {
    uint32_t count = ranges.count.load(std::memory_order_relaxed);
    while (count != 0 && !ranges.is_open(count - 1)) {
        --count;
    }
    ranges.count.store(count, std::memory_order_release);
}

uint8_t count_bounding(const OpenRanges& ranges, bool optimizer_only) {
    uint8_t depth = 0;
    for (uint32_t i = 0; i < ranges.count.load(std::memory_order_relaxed); ++i) {
        if (!ranges.is_open(i)) continue;
        Range range = ranges.range(i);
        if (range.bounds() && (!optimizer_only || range.family == wire::Family::optimizer)) ++depth;
    }
    return depth;
}

uint32_t count_async(const OpenRanges& ranges) {
    uint32_t async_count = 0;
    for (uint32_t i = 0; i < ranges.count.load(std::memory_order_relaxed); ++i) {
        if (ranges.is_open(i) && ranges.range(i).async) ++async_count;
    }
    return async_count;
}

// The number of a place for a new range, kCapacity: none. What is pushed inside a range without a place has
// none either, so that pops end the innermost first.
uint32_t find_place(OpenRanges& ranges, const Range& range) {
    constexpr uint32_t kNone = OpenRanges::kCapacity;
    if (range.pushed && ranges.deeper_pushed_count[range.domain] != 0) return kNone;
    if (range.async && count_async(ranges) >= OpenRanges::kAsyncCapacity) return kNone;
    trim(ranges);
    const uint32_t count = ranges.count.load(std::memory_order_relaxed);
    if (count != OpenRanges::kCapacity) return count;
    uint32_t place = 0;
    while (place != count && ranges.is_open(place)) {
        ++place;
    }
    return place;
}

Event describe(wire::Kind kind, uint16_t thread, const Range& range) {
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.time = read_counter();
    event.link = range.names.link();
    event.code = static_cast<uint16_t>(range.family);
    return event;
}

// `thread` opened it. False: somebody else closes it.
bool close_place(Recorder& recorder, uint16_t thread, OpenRanges& ranges, OpenRange& place, uint64_t handle) {
    Range range = Range::unpack(place.range.load(std::memory_order_relaxed));
    uint64_t begin_ticket = place.begin_ticket.load(std::memory_order_relaxed);
    if (!place.handle.compare_exchange_strong(handle, 0, std::memory_order_acq_rel)) return false;
    if (range.silent) return true;
    if (range.labels()) stop_labelling(recorder, thread, ranges);
    Event event = describe(wire::Kind::phase_end, thread, range);
    event.address = begin_ticket;
    uint64_t ticket = recorder.ring.commit(event).ticket();
    if (!range.bounds()) return true;
    // An optimizer that calls another one is one step, and ends at one point.
    bool inner = range.family == wire::Family::optimizer && count_bounding(ranges, true) != 0;
    if (inner) return true;
    close_boundary(recorder,
                   {ticket, event.time, begin_ticket, range.names, thread, range.family, range.depth});
    if (range.family == wire::Family::optimizer) end_implied_step(recorder, thread, range.collection_off);
    return true;
}

bool close_in(Recorder& recorder, uint16_t thread, OpenRanges& ranges, uint64_t handle) {
    uint32_t count = ranges.count.load(std::memory_order_acquire);
    if (count > OpenRanges::kCapacity) return false;
    while (count-- > 0) {
        OpenRange& place = ranges.places[count];
        if (place.handle.load(std::memory_order_acquire) == handle)
            return close_place(recorder, thread, ranges, place, handle);
    }
    return false;
}

}  // namespace

uint64_t next_handle() {
    return g_last_handle.fetch_add(1, std::memory_order_relaxed) + 1;
}

void set_place(const Recorder& recorder, const ThreadState* state, Event& birth) {
    birth.step = recorder.steps_ended.load(std::memory_order_relaxed);
    if (state != nullptr && state->ranges.has_labelled) {
        birth.phase = innermost_label(state->ranges);
        return;
    }
    uint64_t labelling = recorder.labelling.load(std::memory_order_acquire);
    auto thread = static_cast<uint32_t>(labelling);
    if (labelling / kOneThread == 1 && thread < kThreadCapacity)
        birth.phase = innermost_label(recorder.thread_states[thread].ranges);
}

uint8_t depth_of_next(Recorder& recorder) {
    ThreadState* state = thread_state(recorder, thread_index(recorder));
    return state == nullptr ? 0 : count_bounding(state->ranges, false);
}

uint64_t open_range(Recorder& recorder, uint64_t handle, Range range, uint64_t detail) {
    uint16_t thread = thread_index(recorder);
    ThreadState* state = thread_state(recorder, thread);
    if (state == nullptr) return handle;
    OpenRanges& ranges = state->ranges;
    const uint32_t index = find_place(ranges, range);
    if (index == OpenRanges::kCapacity) {
        if (range.pushed) ++ranges.deeper_pushed_count[range.domain];
        bump(recorder.header->counters.boundaries_dropped);
        return handle | kDeeperBit;
    }
    range.depth = count_bounding(ranges, false);
    OpenRange& place = ranges.places[index];
    uint64_t begin_ticket = wire::kNoTicket;
    if (!range.silent) {
        Event event = describe(wire::Kind::phase_begin, thread, range);
        event.size = detail;
        begin_ticket = recorder.ring.commit(event).ticket();
    }
    place.range.store(range.pack(), std::memory_order_relaxed);
    place.begin_ticket.store(begin_ticket, std::memory_order_relaxed);
    place.handle.store(handle, std::memory_order_release);
    if (index == ranges.count.load(std::memory_order_relaxed))
        ranges.count.store(index + 1, std::memory_order_release);
    if (range.labels()) start_labelling(recorder, thread, ranges);
    return handle;
}

bool close_range(Recorder& recorder, uint64_t handle) {
    uint16_t thread = thread_index(recorder);
    ThreadState* state = thread_state(recorder, thread);
    if (state == nullptr || handle == 0) return false;
    if ((handle & kDeeperBit) != 0) return true;
    OpenRanges& ranges = state->ranges;
    bool closed = close_in(recorder, thread, ranges, handle);
    trim(ranges);
    return closed;
}

void close_range_anywhere(Recorder& recorder, uint64_t handle) {
    if (close_range(recorder, handle)) return;
    if (handle == 0 || (handle & kDeeperBit) != 0) return;
    uint32_t count = std::atomic_ref<uint32_t>(recorder.header->thread_count).load(std::memory_order_acquire);
    for (uint32_t thread = 1; thread < count && thread < kThreadCapacity; ++thread) {
        OpenRanges& ranges = recorder.thread_states[thread].ranges;
        if (close_in(recorder, static_cast<uint16_t>(thread), ranges, handle)) return;
    }
}

void close_pushed_range(Recorder& recorder, uint8_t domain) {
    ThreadState* state = thread_state(recorder, thread_index(recorder));
    if (state == nullptr) return;
    OpenRanges& ranges = state->ranges;
    if (ranges.deeper_pushed_count[domain] != 0) {
        --ranges.deeper_pushed_count[domain];
        return;
    }
    uint64_t innermost = 0;
    for (uint32_t i = 0; i < ranges.count.load(std::memory_order_relaxed); ++i) {
        const uint64_t handle = ranges.places[i].handle.load(std::memory_order_acquire);
        const Range range = ranges.range(i);
        if (handle > innermost && range.pushed && range.domain == domain) innermost = handle;
    }
    close_range(recorder, innermost);
}

}  // namespace memsnap::recorder
