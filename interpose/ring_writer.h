// SPDX-License-Identifier: Apache-2.0
//
// Writes records into the ring by the commit rule of WIRE.md §3. The rule of this file: whatever instant the
// process is killed at, a slot shows either a whole record or nothing a reader accepts; therefore the slot is
// invalidated before its first payload word changes, and every word is stored in that order.
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu.h"
#include "event.h"
#include "wire.h"

namespace memsnap::recorder {

inline void bump(uint64_t& counter) {
    std::atomic_ref<uint64_t>(counter).fetch_add(1, std::memory_order_relaxed);
}

// Stores a record over whatever the slot held. Release stores keep the order on processors that reorder
// stores; on x86 they are plain moves.
inline void store_record(wire::Record& slot, const PackedRecord& record) {
    auto* target = reinterpret_cast<uint64_t*>(&slot);
    std::atomic_ref<uint64_t>(target[0]).store(0, std::memory_order_relaxed);
    for (int word = 1; word < 8; ++word) {
        std::atomic_ref<uint64_t>(target[word]).store(record.words[word], std::memory_order_release);
    }
    std::atomic_ref<uint64_t>(target[0]).store(record.words[0], std::memory_order_release);
}

class RingWriter {
  public:
    void open(wire::Record* slots, uint64_t slot_count, wire::Header* header) {
        slots_ = slots;
        slot_count_ = slot_count;
        header_ = header;
    }

    uint64_t slot_count() const { return slot_count_; }
    uint64_t head() const { return std::atomic_ref<uint64_t>(header_->head).load(std::memory_order_acquire); }
    const wire::Record& slot(uint64_t ticket) const { return slots_[slot_of(ticket)]; }

    // The first of `count` consecutive tickets.
    uint64_t take_tickets(uint64_t count) {
        return std::atomic_ref<uint64_t>(header_->head).fetch_add(count, std::memory_order_relaxed);
    }

    // The `count` tickets from `first` on, if nobody has taken any of them yet.
    bool take_tickets_from(uint64_t first, uint64_t count) {
        return std::atomic_ref<uint64_t>(header_->head)
            .compare_exchange_strong(first, first + count, std::memory_order_acq_rel);
    }

    // Writes the event as the record of its ticket. A slot that a newer ticket already owns is left alone,
    // and so is one that a writer a lap behind is still in, lest the two interleave: after the first lap, in
    // which slots are 0 because nobody wrote them yet, 0 means that.
    PackedRecord commit(const Event& event, uint64_t ticket) {
        PackedRecord record = pack(event, ticket);
        record.words[1] |= record_check(record.words);
        wire::Record& target = slots_[slot_of(ticket)];
        uint64_t seq = std::atomic_ref<uint64_t>(target.seq).load(std::memory_order_relaxed);
        if (seq > ticket || (seq == 0 && ticket >= slot_count_)) [[unlikely]] {
            bump(header_->counters.lapped);
        } else {
            store_record(target, record);
        }
        return record;
    }
    PackedRecord commit(const Event& event) { return commit(event, take_tickets(1)); }

  private:
    uint64_t slot_of(uint64_t ticket) const {
        // The default size is a power of two, and a division costs as much as the check.
        return (slot_count_ & (slot_count_ - 1)) == 0 ? ticket & (slot_count_ - 1) : ticket % slot_count_;
    }

    wire::Record* slots_ = nullptr;
    uint64_t slot_count_ = 0;
    wire::Header* header_ = nullptr;
};

}  // namespace memsnap::recorder
