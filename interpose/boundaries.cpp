// SPDX-License-Identifier: Apache-2.0
#include "boundaries.h"

#include "dimensions.h"
#include "pinned.h"
#include "sampler.h"
#include "try_lock.h"
#include "wire_marks.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kClassBits = 3;
constexpr uint32_t kNumberMask = (uint32_t{1} << (32 - kClassBits)) - 1;
constexpr uint32_t kMaxStride = uint32_t{1} << 28;
constexpr uint64_t kUnit = wire::kTotalsUnit_bytes;
constexpr uint64_t kMask40 = (uint64_t{1} << 40) - 1;

// The last class stays unused, so that a place's content plus 1 fits.
static_assert(uint32_t{BoundaryState::kClassCount} < uint32_t{1} << kClassBits);

BoundaryState::Class class_of(const Closing& closing) {
    switch (closing.family) {
        case wire::Family::step:
            return BoundaryState::kStep;
        case wire::Family::optimizer:
            return BoundaryState::kOptimizer;
        case wire::Family::module:
            return BoundaryState::kModule;
        case wire::Family::none:
        case wire::Family::range:
        case wire::Family::collection:
            break;
    }
    return closing.depth == 0 ? BoundaryState::kRange : BoundaryState::kNestedRange;
}

std::atomic_ref<uint64_t> state_of(wire::Boundary& entry) {
    return std::atomic_ref<uint64_t>(entry.state);
}

std::atomic_ref<uint32_t> stride_of(Recorder& recorder) {
    return std::atomic_ref<uint32_t>(recorder.header->boundary_stride);
}

void count_dropped(Recorder& recorder, uint32_t count) {
    std::atomic_ref<uint64_t>(recorder.header->counters.boundaries_dropped)
        .fetch_add(count, std::memory_order_relaxed);
}

// The compiler's own counting may call into a library that is not ours to need.
uint32_t count_devices(uint32_t devices) {
    uint32_t count = 0;
    for (; devices != 0; devices &= devices - 1) {
        ++count;
    }
    return count;
}

bool is_kept(uint32_t number, uint32_t stride) {
    return (number & (stride - 1)) == 0;
}

// Every second entry of each class goes.
void thin(Recorder& recorder, uint32_t stride) {
    BoundaryState& table = recorder.boundaries;
    uint32_t dropped = 0;
    for (uint32_t place = 0; place < table.capacity; ++place) {
        uint32_t there = table.places[place];
        if (there == 0 || is_kept((there - 1) >> kClassBits, stride)) continue;
        state_of(table.entries[place]).store(0, std::memory_order_release);
        table.places[place] = 0;
        ++dropped;
    }
    table.free_count += dropped;
    count_dropped(recorder, dropped);
    stride_of(recorder).store(stride, std::memory_order_release);
}

uint32_t take_place(Recorder& recorder, uint32_t content) {
    BoundaryState& table = recorder.boundaries;
    while (table.places[table.cursor] != 0) {
        table.cursor = (table.cursor + 1) % table.capacity;
    }
    table.places[table.cursor] = content;
    --table.free_count;
    std::atomic_ref<uint32_t> used(recorder.header->boundary_count);
    if (used.load(std::memory_order_relaxed) <= table.cursor)
        used.store(table.cursor + 1, std::memory_order_release);
    return table.cursor;
}

uint64_t pack_names(const Closing& closing, uint32_t device) {
    return uint64_t{closing.names.exact} | uint64_t{closing.names.folded} << 16 |
           uint64_t{closing.thread} << 32 | static_cast<uint64_t>(closing.family) << 48 |
           uint64_t{device} << 56;
}

// By the rule that a place whose state is 0 may change at any time, and no other.
void store_entry(wire::Boundary& entry, const uint64_t (&words)[8]) {
    auto* target = reinterpret_cast<uint64_t*>(&entry);
    for (int word = 1; word < 8; ++word) {
        std::atomic_ref<uint64_t>(target[word]).store(words[word], std::memory_order_release);
    }
    std::atomic_ref<uint64_t>(target[0]).store(words[0], std::memory_order_release);
}

void add_entry(Recorder& recorder, const Closing& closing, uint32_t ordinal, uint32_t device,
               uint32_t content) {
    const DeviceState& state = recorder.devices[device];
    uint64_t allocated = state.allocated_bytes.load(std::memory_order_relaxed) / kUnit & kMask40;
    uint64_t reserved = state.reserved_bytes.load(std::memory_order_relaxed) / kUnit & kMask40;
    Observed observed = observe_boundary(recorder, device);
    uint64_t device_free = observed.known ? observed.free_bytes / kUnit & kMask40 : kMask40;
    uint64_t age = observed.known && closing.time > observed.time ? closing.time - observed.time : 0;
    if (age >> wire::kAgeShift_bits > UINT32_MAX) age = uint64_t{UINT32_MAX} << wire::kAgeShift_bits;
    uint64_t words[8] = {closing.ticket + 1,
                         closing.time,
                         closing.opened_ticket,
                         age >> wire::kAgeShift_bits | uint64_t{ordinal} << 32,
                         uint64_t{noted_dimensions(recorder)} << 32,
                         pack_names(closing, device),
                         allocated | reserved << 40,
                         reserved >> 24 | device_free << 16 | uint64_t{closing.depth} << 56};
    words[4] |= boundary_check(words);
    store_entry(recorder.boundaries.entries[take_place(recorder, content)], words);
}

// Whether the table has room for that many entries more, thinned if need be.
bool make_room(Recorder& recorder, uint32_t count) {
    uint32_t stride = stride_of(recorder).load(std::memory_order_relaxed);
    while (recorder.boundaries.free_count < count && stride < kMaxStride) {
        stride *= 2;
        thin(recorder, stride);
    }
    return recorder.boundaries.free_count >= count;
}

void add_entries(Recorder& recorder, const Closing& closing, uint32_t devices) {
    BoundaryState& table = recorder.boundaries;
    uint32_t device_count = count_devices(devices);
    uint32_t ordinal = table.next_ordinal++;
    BoundaryState::Class which = class_of(closing);
    uint32_t number = table.closed_count[which]++ & kNumberMask;
    bool kept = is_kept(number, stride_of(recorder).load(std::memory_order_relaxed)) &&
                make_room(recorder, device_count) &&
                is_kept(number, stride_of(recorder).load(std::memory_order_relaxed));
    if (!kept) count_dropped(recorder, device_count);
    for (uint32_t device = 0; kept && device < wire::kDeviceCapacity; ++device) {
        if ((devices >> device & 1) != 0)
            add_entry(recorder, closing, ordinal, device, (number << kClassBits | which) + 1);
    }
    table.last_time.store(closing.time, std::memory_order_relaxed);
    table.last_ordinal.store(ordinal + 1, std::memory_order_release);
}

}  // namespace

void close_boundary(Recorder& recorder, const Closing& closing) {
    uint32_t devices = recorder.reported_devices.load(std::memory_order_acquire);
    if (devices == 0) return;
    TryLock lock(recorder.boundaries.lock);
    if (lock.held()) add_entries(recorder, closing, devices);
    if (!lock.held()) count_dropped(recorder, count_devices(devices));
    lock.release();
    ask_for_sample(recorder);
}

uint64_t last_boundary_word(const Recorder& recorder, uint64_t time) {
    const BoundaryState& table = recorder.boundaries;
    uint32_t ordinal = table.last_ordinal.load(std::memory_order_acquire);
    if (ordinal == 0) return 0;
    uint64_t closed = table.last_time.load(std::memory_order_relaxed);
    uint64_t age = time > closed ? (time - closed) >> wire::kAgeShift_bits : 0;
    return ordinal | (age > UINT32_MAX ? uint64_t{UINT32_MAX} : age) << 32;
}

}  // namespace memsnap::recorder
