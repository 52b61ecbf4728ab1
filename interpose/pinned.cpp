// SPDX-License-Identifier: Apache-2.0
#include "pinned.h"

#include "try_lock.h"

namespace memsnap::recorder {
namespace {

// Over the older of two copies.
void store_in_turn(wire::Record (&copies)[2], const PackedRecord& record) {
    uint64_t first = std::atomic_ref<uint64_t>(copies[0].seq).load(std::memory_order_relaxed);
    uint64_t second = std::atomic_ref<uint64_t>(copies[1].seq).load(std::memory_order_relaxed);
    store_record(copies[first <= second ? 0 : 1], record);
}

// The newer of two copies; null: neither was ever written. Under the device's lock both are whole.
const wire::Record* newer(const wire::Record (&copies)[2]) {
    const wire::Record& one = copies[0].seq > copies[1].seq ? copies[0] : copies[1];
    return one.seq == 0 ? nullptr : &one;
}

PackedRecord packed(const wire::Record& record) {
    PackedRecord copy;
    std::memcpy(copy.words, &record, sizeof copy.words);
    return copy;
}

void add_sample(wire::PinnedDevice& pinned, const PackedRecord& record) {
    constexpr uint64_t kCapacity = sizeof pinned.samples / sizeof pinned.samples[0];
    std::atomic_ref<uint64_t> count(pinned.sample_count);
    uint64_t number = count.load(std::memory_order_relaxed);
    store_record(pinned.samples[number % kCapacity], record);
    count.store(number + 1, std::memory_order_release);
}

}  // namespace

void pin_block(Recorder& recorder, const Event& event, const PackedRecord& record, uint64_t allocated_bytes,
               uint64_t reserved_bytes) {
    auto device = static_cast<uint32_t>(event.device);
    if (device >= wire::kDeviceCapacity) return;
    DeviceState& state = recorder.devices[device];
    wire::PinnedDevice& pinned = recorder.pinned[device];
    state.allocated_bytes.store(allocated_bytes, std::memory_order_relaxed);
    state.reserved_bytes.store(reserved_bytes, std::memory_order_relaxed);
    bool allocated_peak = allocated_bytes > state.peak_allocated_bytes.load(std::memory_order_relaxed);
    bool reserved_peak = reserved_bytes > state.peak_reserved_bytes.load(std::memory_order_relaxed);
    if (event.kind == wire::Kind::block_alloc)
        state.block_births.store(state.block_births.load(std::memory_order_relaxed) + 1,
                                 std::memory_order_relaxed);
    bool first = !state.has_reported.load(std::memory_order_relaxed);
    if (!allocated_peak && !reserved_peak && !first) [[likely]]
        return;

    if (event.kind == wire::Kind::block_free) return;
    TryLock lock(state.lock);
    if (!lock.held()) return;
    if (first) store_record(pinned.first_report, record);
    if (allocated_peak) {
        state.peak_allocated_bytes.store(allocated_bytes, std::memory_order_relaxed);
        store_in_turn(pinned.peak_allocated, record);
    }
    if (reserved_peak) {
        state.peak_reserved_bytes.store(reserved_bytes, std::memory_order_relaxed);
        store_in_turn(pinned.peak_reserved, record);
    }
    state.has_reported.store(true, std::memory_order_release);
    recorder.reported_devices.fetch_or(uint32_t{1} << device, std::memory_order_release);
}

void add_reported_totals(const Recorder& recorder, Event& event) {
    auto device = static_cast<uint32_t>(event.device);
    if (device >= wire::kDeviceCapacity) return;
    const DeviceState& state = recorder.devices[device];
    if (!state.has_reported.load(std::memory_order_acquire)) return;
    event.set_totals(state.allocated_bytes.load(std::memory_order_relaxed),
                     state.reserved_bytes.load(std::memory_order_relaxed));
}

void pin_observation(Recorder& recorder, const Event& event, const PackedRecord& record) {
    auto device = static_cast<uint32_t>(event.device);
    if (device >= wire::kDeviceCapacity || event.code != 0) return;
    DeviceState& state = recorder.devices[device];
    wire::PinnedDevice& pinned = recorder.pinned[device];
    TryLock lock(state.lock);
    if (!lock.held()) return;
    store_in_turn(pinned.last_observation, record);
    if (event.kind == wire::Kind::device_sample) add_sample(pinned, record);
    if (!state.has_reported.load(std::memory_order_acquire)) return;
    auto outside_bytes =
        static_cast<int64_t>(event.size - event.link - state.reserved_bytes.load(std::memory_order_relaxed));
    if (!state.has_observation || outside_bytes > state.peak_outside_bytes) {
        state.peak_outside_bytes = outside_bytes;
        store_in_turn(pinned.peak_outside, record);
    }
    if (!state.has_observation) {
        state.has_observation = true;
        store_record(pinned.first_observation, record);
    }
}

void pin_processes(Recorder& recorder, const Event& event, const PackedRecord& record) {
    wire::PinnedDevice& pinned = recorder.pinned[event.device];
    TryLock lock(recorder.devices[event.device].lock);
    if (!lock.held()) return;
    store_in_turn(pinned.last_processes, record);
    if (pinned.first_processes.seq == 0) store_record(pinned.first_processes, record);
}

void pin_cap(Recorder& recorder, const Event& event, const PackedRecord& record) {
    auto device = static_cast<uint32_t>(event.device);
    if (device >= wire::kDeviceCapacity) return;
    TryLock lock(recorder.devices[device].lock);
    if (lock.held()) store_in_turn(recorder.pinned[device].cap, record);
}

Observed observe_boundary(Recorder& recorder, uint32_t device) {
    DeviceState& state = recorder.devices[device];
    wire::PinnedDevice& pinned = recorder.pinned[device];
    TryLock lock(state.lock);
    if (!lock.held()) return {};
    const wire::Record* last = newer(pinned.last_observation);
    if (!state.has_boundary && last != nullptr) store_in_turn(pinned.before_first_boundary, packed(*last));
    state.has_boundary = true;
    return last == nullptr ? Observed{} : Observed{true, last->link, last->time};
}

}  // namespace memsnap::recorder
