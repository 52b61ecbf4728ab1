// SPDX-License-Identifier: Apache-2.0
#include "initial_objects.h"

#include <sys/mman.h>

#include "ring_file.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kEventMask = 3;

uint64_t key_of(uint64_t address, bool is_block) {
    return address << 3 | (is_block ? 4u : 0u);
}

uint32_t place_of(uint64_t key, uint32_t size) {
    return static_cast<uint32_t>((((key * 0x9e3779b97f4a7c15) >> 32) * size) >> 32);
}

wire::Record load_record(const wire::Record& slot) {
    PackedRecord copy;
    auto* source = reinterpret_cast<uint64_t*>(const_cast<wire::Record*>(&slot));
    for (int word = 0; word < 8; ++word) {
        copy.words[word] = std::atomic_ref<uint64_t>(source[word]).load(std::memory_order_acquire);
    }
    return copy.unpack();
}

uint64_t sequence_of(const wire::Record& slot) {
    return std::atomic_ref<uint64_t>(const_cast<wire::Record&>(slot).seq).load(std::memory_order_acquire);
}

// Two u40 of the record's tail, in bytes.
uint64_t total_at(const wire::Record& record, uint32_t offset) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < 5; ++i) {
        value |= uint64_t{record.tail[offset + i]} << (8 * i);
    }
    return value * wire::kTotalsUnit_bytes;
}

}  // namespace

bool InitialObjects::open(uint64_t head) {
    objects_ = static_cast<InitialObject*>(private_memory(kCapacity * sizeof(InitialObject)));
    touched_ = static_cast<uint64_t*>(private_memory(kTouchedCapacity * sizeof(uint64_t)));
    if (objects_ == nullptr || touched_ == nullptr) close();
    first_ticket_ = next_ticket_ = head;
    return objects_ != nullptr;
}

void InitialObjects::close() {
    if (objects_ != nullptr) munmap(objects_, kCapacity * sizeof(InitialObject));
    if (touched_ != nullptr) munmap(touched_, kTouchedCapacity * sizeof(uint64_t));
    *this = InitialObjects{};
}

bool InitialObjects::add(const InitialObject& object) {
    if (count_ == kCapacity) return false;
    objects_[count_++] = object;
    return true;
}

uint32_t InitialObjects::find(uint64_t address, bool is_block) const {
    const uint64_t key = key_of(address, is_block);
    uint32_t place = place_of(key, kTouchedCapacity);
    while (touched_[place] != 0 && (touched_[place] & ~kEventMask) != key) {
        place = (place + 1) % kTouchedCapacity;
    }
    return place;
}

FirstEvent InitialObjects::first_event_of(const InitialObject& object) const {
    return static_cast<FirstEvent>(touched_[find(object.address, object.told == Told::block)] & kEventMask);
}

void InitialObjects::take(const wire::Record& record) {
    const bool is_block = record.kind == wire::Kind::block_alloc || record.kind == wire::Kind::block_free;
    const bool is_death = record.kind == wire::Kind::block_free || record.kind == wire::Kind::free;
    if (!is_block && !is_death && record.kind != wire::Kind::ok) return;
    const auto device = static_cast<uint32_t>(record.device);
    if (is_block && device < wire::kDeviceCapacity && (record.flags & wire::kFlagTotals) != 0)
        totals_[device] = Totals{true, total_at(record, 0), total_at(record, 5)};
    const uint32_t place = find(record.address, is_block);
    if (touched_[place] != 0) return;
    if (touched_count_ == kTouchedCapacity / 4 * 3) {
        has_missed_ = true;
        return;
    }
    ++touched_count_;
    const bool is_own = record.link != wire::kNoTicket && record.link >= first_ticket_;
    const FirstEvent first = !is_death ? FirstEvent::birth
                             : is_own  ? FirstEvent::own_death
                                       : FirstEvent::other_death;
    touched_[place] = key_of(record.address, is_block) | static_cast<uint64_t>(first);
}

// A hook may have taken the ticket and not yet written its record. One that was stopped in between, or that
// dropped its record, is not waited for long.
bool InitialObjects::wait_for(const Recorder& recorder, uint64_t ticket, wire::Record& copy) {
    const wire::Record* slots = recorder.ring.slots();
    if (slots == nullptr) return false;
    const wire::Record& slot = slots[recorder.ring.slot_of(ticket)];
    constexpr int kTries = 100;
    const timespec pause{0, 20'000};
    for (int i = 0; i < kTries; ++i) {
        const uint64_t seq = sequence_of(slot);
        if (seq > ticket + 1) {
            has_missed_ = true;
            return false;
        }
        if (seq == ticket + 1) {
            copy = load_record(slot);
            if (sequence_of(slot) == seq) return true;
        }
        if (recorder.ring.head() > ticket + recorder.ring.slot_count()) has_missed_ = true;
        nanosleep(&pause, nullptr);
    }
    return false;
}

void InitialObjects::read_ring(const Recorder& recorder, uint64_t head) {
    for (; next_ticket_ < head; ++next_ticket_) {
        wire::Record record{};
        if (wait_for(recorder, next_ticket_, record)) take(record);
    }
}

}  // namespace memsnap::recorder
