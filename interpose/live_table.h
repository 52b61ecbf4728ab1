// SPDX-License-Identifier: Apache-2.0
//
// What is live now. The file holds a plain array of entries; where an object's entry lies is known only to a
// private index of one word a slot, two buckets of 16 slots a key. As private is each object's home, the
// context that it ends with. The rules: no lock, no entry ever moves, and a slot belongs to exactly one
// thread between taking it and publishing or giving it up.
#pragma once

#include <atomic>
#include <cstdint>

#include "event.h"
#include "wire.h"

namespace memsnap::recorder {

// What an object ends with; see contexts.h. A slot keeps the home of its last object that had one to tell.
enum class Home : uint16_t {
    untold = 0,  // blocks: their allocator ends them
    nobody = 1,  // ends by its own call alone
    first_context = 2
};

class LiveTable {
  public:
    static constexpr uint32_t kSlotsPerBucket = 16;
    static constexpr uint32_t kNoSlot = ~uint32_t{0};

    static constexpr uint64_t kPrivateBytesPerSlot = sizeof(uint64_t) + sizeof(Home);

    // `private_memory` has kPrivateBytesPerSlot zeroed bytes a slot; slot_count is a multiple of
    // kSlotsPerBucket.
    void open(wire::LiveEntry* entries, void* private_memory, uint32_t slot_count) {
        entries_ = entries;
        index_ = static_cast<std::atomic<uint64_t>*>(private_memory);
        homes_ = reinterpret_cast<std::atomic<Home>*>(index_ + slot_count);
        slot_count_ = slot_count;
    }

    // Enters an object as live since `last_ticket`; false when both its buckets are full.
    bool enter(const PackedEntry& entry, uint64_t last_ticket, Home home);

    // Takes the entry of an object for the calling thread alone (one of them when it has several), or
    // kNoSlot.
    uint32_t claim(wire::Object object, uint64_t address);
    // The same of the entry that was born first.
    uint32_t claim_oldest(wire::Object object, uint64_t address);
    // Takes one of the objects with this home at or after `first_slot`, which moves on; contexts themselves,
    // or all others.
    uint32_t claim_at_home(Home home, bool contexts, uint32_t& first_slot);
    const wire::LiveEntry& entry(uint32_t slot) const { return entries_[slot]; }
    Home home(uint32_t slot) const { return homes_[slot].load(std::memory_order_relaxed); }
    // Marks a claimed entry dead at `ticket` and gives its slot up.
    void retire(uint32_t slot, uint64_t ticket);

    // A copy of the entry of an object; false when there is none.
    bool peek(wire::Object object, uint64_t address, wire::LiveEntry& copy) const;

    // Copies the live entries, at most `capacity`; counts those that did not fit.
    uint32_t copy_live(wire::LiveEntry* target, uint32_t capacity, uint32_t& dropped_count) const;

    // Takes all of a range of slots when none of them ever held an entry, so that nobody else writes there.
    bool reserve_unused(uint32_t first_slot, uint32_t count);
    void release_reserved(uint32_t first_slot, uint32_t count);

    void set_entries(wire::LiveEntry* entries) { entries_ = entries; }
    uint32_t slot_count() const { return slot_count_; }

  private:
    struct Buckets {
        uint32_t first_slot[2];
        uint32_t start;  // where in a bucket the search begins
    };
    Buckets buckets_of(uint64_t key) const;
    // The published slot of the object that was born first, or kNoSlot.
    uint32_t find_oldest(wire::Object object, uint64_t address, uint64_t key) const;
    bool copy_entry(uint32_t slot, wire::LiveEntry& copy) const;

    wire::LiveEntry* entries_ = nullptr;
    std::atomic<uint64_t>* index_ = nullptr;
    std::atomic<Home>* homes_ = nullptr;
    uint32_t slot_count_ = 0;
};

}  // namespace memsnap::recorder
