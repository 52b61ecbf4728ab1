// SPDX-License-Identifier: Apache-2.0
#include "keyframe.h"

#include "anchors.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kNoKeyframe = ~uint32_t{0};
constexpr uint64_t kPause_ns = 1'000'000'000;

// The slot for the next failure, or kNoKeyframe when it comes too soon after another or its slot is being
// written.
uint32_t claim_slot(Recorder& recorder) {
    uint64_t now_ns = read_monotonic_ns();
    uint32_t failure =
        std::atomic_ref<uint32_t>(recorder.header->failure_count).fetch_add(1, std::memory_order_relaxed);
    uint32_t slot = failure;
    if (failure >= 2) {
        uint64_t last_ns = recorder.last_keyframe_ns.load(std::memory_order_relaxed);
        if (now_ns - last_ns < kPause_ns ||
            !recorder.last_keyframe_ns.compare_exchange_strong(last_ns, now_ns)) {
            return kNoKeyframe;
        }
        slot = 2 + recorder.late_keyframe_count.fetch_add(1, std::memory_order_relaxed) % 2;
    } else {
        recorder.last_keyframe_ns.store(now_ns, std::memory_order_relaxed);
    }
    return recorder.keyframe_busy[slot].exchange(1, std::memory_order_acquire) == 0 ? slot : kNoKeyframe;
}

void copy_words(void* target, const void* source, uint64_t bytes) {
    auto* to = static_cast<uint64_t*>(target);
    auto* from = static_cast<uint64_t*>(const_cast<void*>(source));
    for (uint64_t word = 0; word < bytes / sizeof(uint64_t); ++word) {
        to[word] = std::atomic_ref<uint64_t>(from[word]).load(std::memory_order_relaxed);
    }
}

void copy_operation(const ThreadState* state, wire::Keyframe& keyframe, uint8_t* slot) {
    auto* target = reinterpret_cast<wire::Record*>(slot + keyframe.operation_offset_bytes);
    keyframe.operation_count = 0;
    if (state == nullptr) return;
    uint32_t total = state->operation.call_count();
    uint32_t kept = total < wire::kKeyframeOperationRecords ? total : wire::kKeyframeOperationRecords;
    for (uint32_t i = 0; i < kept; ++i) {
        target[i] = state->calls[(total - kept + i) % wire::kKeyframeOperationRecords];
    }
    keyframe.operation_count = kept;
}

// The records before `end_ticket`. One that another thread is writing keeps or gets seq 0.
void copy_ring(const Recorder& recorder, uint64_t end_ticket, wire::Keyframe& keyframe, uint8_t* slot) {
    keyframe.ring_count = 0;
    const wire::Record* slots = recorder.ring.slots();
    const uint64_t first = recorder.ring.first();
    if (slots == nullptr || first >= end_ticket) return;
    auto* target = reinterpret_cast<wire::Record*>(slot + keyframe.ring_offset_bytes);
    uint64_t capacity = recorder.ring.slot_count();
    uint64_t count = wire::kKeyframeRingRecords;
    if (count > end_ticket - first) count = end_ticket - first;
    if (count > capacity) count = capacity;
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t ticket = end_ticket - count + i;
        const wire::Record& source = slots[recorder.ring.slot_of(ticket)];
        std::atomic_ref<uint64_t> seq(const_cast<uint64_t&>(source.seq));
        uint64_t before = seq.load(std::memory_order_acquire);
        copy_words(&target[i], &source, sizeof source);
        if (before != ticket + 1 || seq.load(std::memory_order_acquire) != before) target[i].seq = 0;
    }
    keyframe.ring_count = static_cast<uint32_t>(count);
}

// A slot of which the parts have their places, and the live objects and the pinned area are copied.
struct Slot {
    uint8_t* begin;
    wire::Keyframe& keyframe;
    uint64_t word;
};

// `word` will mark it as whole; not 0.
Slot open_slot(Recorder& recorder, uint32_t number, uint64_t word) {
    const uint64_t slot_bytes =
        recorder.header->areas[static_cast<uint32_t>(wire::AreaId::keyframes)].entry_bytes;
    uint8_t* slot = recorder.keyframes + number * slot_bytes;
    auto& keyframe = *reinterpret_cast<wire::Keyframe*>(slot);
    std::atomic_ref<uint64_t>(keyframe.end).store(0, std::memory_order_release);
    std::atomic_ref<uint64_t>(keyframe.begin).store(word, std::memory_order_release);
    std::atomic_ref<uint64_t>(keyframe.begin_ticket).store(recorder.ring.head(), std::memory_order_release);

    uint64_t offset = sizeof(wire::Keyframe);
    auto place = [&offset](uint64_t bytes) {
        auto at = static_cast<uint32_t>(offset);
        offset += bytes;
        return at;
    };
    keyframe.operation_offset_bytes = place(wire::kKeyframeOperationRecords * sizeof(wire::Record));
    keyframe.pinned_offset_bytes = place(wire::kDeviceCapacity * sizeof(wire::PinnedDevice));
    keyframe.ring_offset_bytes = place(wire::kKeyframeRingRecords * sizeof(wire::Record));
    keyframe.table_offset_bytes = static_cast<uint32_t>(offset);
    auto table_capacity = static_cast<uint32_t>((slot_bytes - offset) / sizeof(wire::LiveEntry));

    auto* entries = reinterpret_cast<wire::LiveEntry*>(slot + keyframe.table_offset_bytes);
    keyframe.entry_count = recorder.table.copy_live(entries, table_capacity, keyframe.entries_dropped);
    copy_words(slot + keyframe.pinned_offset_bytes, recorder.pinned,
               wire::kDeviceCapacity * sizeof(wire::PinnedDevice));
    return {slot, keyframe, word};
}

void close_slot(const Slot& slot) {
    std::atomic_ref<uint64_t>(slot.keyframe.end).store(slot.word, std::memory_order_release);
}

}  // namespace

void write_keyframe(Recorder& recorder, const wire::Record& failure, const ThreadState* state) {
    add_anchor(recorder);
    uint32_t slot = claim_slot(recorder);
    if (slot == kNoKeyframe) {
        bump(recorder.header->counters.keyframes_skipped);
        return;
    }
    Slot target = open_slot(recorder, slot, failure.seq);
    target.keyframe.failure = failure;
    copy_operation(state, target.keyframe, target.begin);
    // Last: the table is brought to end_ticket by redoing these records.
    target.keyframe.end_ticket = recorder.ring.head();
    copy_ring(recorder, target.keyframe.end_ticket, target.keyframe, target.begin);
    close_slot(target);
    recorder.keyframe_busy[slot].store(0, std::memory_order_release);

    Event event;
    event.kind = wire::Kind::keyframe;
    event.thread = failure.thread;
    event.time = read_counter();
    event.link = slot;
    event.device = failure.device;
    recorder.ring.commit(event);
}

void end_window(Recorder& recorder) {
    Slot slot = open_slot(recorder, wire::kDisarmedSlot, recorder.ring.head() + 1);
    // The table is brought to the end by redoing the ring's own records. From the look at the head on, as
    // little as can be: each record stored behind the end takes the place of one in the window.
    const uint64_t end_ticket = recorder.ring.head();
    slot.keyframe.end_ticket = end_ticket;
    std::atomic_ref<uint64_t>(recorder.header->disarmed_at).store(end_ticket + 1, std::memory_order_release);
    close_slot(slot);
    recorder.ring.end_storing();
}

}  // namespace memsnap::recorder
