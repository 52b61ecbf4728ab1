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
    // Consecutive tickets, and where their records go: null while nothing is stored.
    struct Tickets {
        uint64_t first;
        wire::Record* slots;
    };

    // Without slots tickets are taken and nothing is stored.
    void open(wire::Record* slots, uint64_t slot_count, wire::Header* header) {
        slot_count_ = slot_count;
        header_ = header;
        first_.store(slots == nullptr ? wire::kNoTicket : 0, std::memory_order_relaxed);
        slots_.store(slots, std::memory_order_release);
    }

    uint64_t slot_count() const { return slot_count_; }
    uint64_t head() const { return std::atomic_ref<uint64_t>(header_->head).load(std::memory_order_acquire); }
    // The first ticket whose record is sure to be in the ring, and all after it; kNoTicket while nothing is
    // stored.
    uint64_t first() const { return first_.load(std::memory_order_relaxed); }
    wire::Record* slots() const { return slots_.load(std::memory_order_acquire); }
    uint64_t slot_of(uint64_t ticket) const {
        // The default size is a power of two, and a division costs as much as the check.
        return (slot_count_ & (slot_count_ - 1)) == 0 ? ticket & (slot_count_ - 1) : ticket % slot_count_;
    }

    // From the returned ticket on everything is stored: who takes a later one has seen the slots, since each
    // addition to `head` is ordered behind this one.
    uint64_t begin_storing(wire::Record* slots) {
        slots_.store(slots, std::memory_order_release);
        uint64_t first = std::atomic_ref<uint64_t>(header_->head).fetch_add(0, std::memory_order_acq_rel);
        first_.store(first, std::memory_order_relaxed);
        return first;
    }
    // What was taken before `head` was read last is still stored: its slots were read before.
    void end_storing() {
        slots_.store(nullptr, std::memory_order_release);
        first_.store(wire::kNoTicket, std::memory_order_relaxed);
    }

    Tickets take_tickets(uint64_t count) {
        wire::Record* slots = slots_.load(std::memory_order_acquire);
        uint64_t first = std::atomic_ref<uint64_t>(header_->head).fetch_add(count, std::memory_order_acq_rel);
        if (slots == nullptr) [[unlikely]]
            slots = slots_.load(std::memory_order_acquire);
        return {first, slots};
    }

    // The `count` tickets from `first` on, if nobody has taken any of them yet.
    bool take_tickets_from(uint64_t first, uint64_t count) {
        return std::atomic_ref<uint64_t>(header_->head)
            .compare_exchange_strong(first, first + count, std::memory_order_acq_rel);
    }

    // Whether a death must tell the birth of its object, since the ring may not hold it. Others may take
    // tickets between this look at the head and the death's own, so twice as early as readers ask for is
    // early enough.
    bool may_have_lost(uint64_t birth_ticket) const {
        return birth_ticket < first() || head() - birth_ticket > slot_count_ / (2 * wire::kWindowDivisor);
    }

    // Writes the event as the record of its ticket, the one at `index` of those taken. A slot that a newer
    // ticket already owns is left alone, and so is one that a writer a lap behind is still in, lest the two
    // interleave: after the first lap, in which slots are 0 because nobody wrote them yet, 0 means that.
    PackedRecord commit(const Event& event, const Tickets& tickets, uint64_t index = 0) {
        const uint64_t ticket = tickets.first + index;
        PackedRecord record = pack(event, ticket);
        record.words[1] |= record_check(record.words);
        if (tickets.slots == nullptr) [[unlikely]]
            return record;
        wire::Record& target = tickets.slots[slot_of(ticket)];
        uint64_t seq = std::atomic_ref<uint64_t>(target.seq).load(std::memory_order_relaxed);
        if (seq > ticket || (seq == 0 && is_behind_first_lap(ticket))) [[unlikely]] {
            bump(header_->counters.lapped);
        } else {
            store_record(target, record);
        }
        return record;
    }
    PackedRecord commit(const Event& event) { return commit(event, take_tickets(1)); }

  private:
    bool is_behind_first_lap(uint64_t ticket) const {
        uint64_t first_ticket = first();
        return ticket >= first_ticket && ticket - first_ticket >= slot_count_;
    }

    std::atomic<wire::Record*> slots_ = nullptr;
    std::atomic<uint64_t> first_ = 0;
    uint64_t slot_count_ = 0;
    wire::Header* header_ = nullptr;
};

}  // namespace memsnap::recorder
