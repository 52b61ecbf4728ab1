// SPDX-License-Identifier: Apache-2.0
#include "live_table.h"

#include <cstring>

#include "cpu.h"

namespace memsnap::recorder {
namespace {

// An index word is 0 (free), a key (bit 0 set: the entry is published) or a key with bit 0 cleared (one
// thread holds the slot).
constexpr uint64_t kPublished = 1;
constexpr uint64_t kReserved = 2;  // held by reserve_unused; no key has this value

uint64_t key_of(wire::Object object, uint64_t address) {
    uint64_t rotated = (address << 5) | (address >> 59);
    uint64_t key = rotated ^ (static_cast<uint64_t>(object) << 1);
    return key < 4 ? key + (uint64_t{1} << 63) + kPublished : key | kPublished;
}

// hash * range / 2^64: spreads over any range without a division.
uint32_t scale(uint64_t hash, uint32_t range) {
    return static_cast<uint32_t>(((hash >> 32) * range) >> 32);
}

wire::LiveEntry load_entry(const wire::LiveEntry& entry) {
    uint64_t words[8];
    auto* source = reinterpret_cast<uint64_t*>(const_cast<wire::LiveEntry*>(&entry));
    for (int word = 0; word < 8; ++word) {
        words[word] = std::atomic_ref<uint64_t>(source[word]).load(std::memory_order_acquire);
    }
    wire::LiveEntry copy;
    std::memcpy(&copy, words, sizeof copy);
    return copy;
}

bool is_live(const wire::LiveEntry& entry) {
    return (entry.state & 1) != 0;
}

}  // namespace

LiveTable::Buckets LiveTable::buckets_of(uint64_t key) const {
    uint32_t bucket_count = slot_count_ / kSlotsPerBucket;
    uint64_t first = (key | kPublished) * 0x9e3779b97f4a7c15;
    uint64_t second = ((first >> 32) | (first << 32)) * 0xd6e8feb86659fd93;
    return Buckets{
        {scale(first, bucket_count) * kSlotsPerBucket, scale(second, bucket_count) * kSlotsPerBucket},
        static_cast<uint32_t>(second) % kSlotsPerBucket};
}

bool LiveTable::enter(const PackedEntry& entry, uint64_t last_ticket, Home home) {
    uint64_t key = key_of(static_cast<wire::Object>(entry.words[7] & 0xff), entry.words[1]);
    Buckets buckets = buckets_of(key);
    for (uint32_t bucket : buckets.first_slot) {
        for (uint32_t i = 0; i < kSlotsPerBucket; ++i) {
            uint32_t slot = bucket + (buckets.start + i) % kSlotsPerBucket;
            uint64_t expected = 0;
            if (index_[slot].load(std::memory_order_relaxed) != 0 ||
                !index_[slot].compare_exchange_strong(expected, key & ~kPublished,
                                                      std::memory_order_acq_rel)) {
                continue;
            }
            if (home != Home::untold) homes_[slot].store(home, std::memory_order_relaxed);
            auto* target = reinterpret_cast<uint64_t*>(&entries_[slot]);
            for (int word = 1; word < 7; ++word) {
                std::atomic_ref<uint64_t>(target[word]).store(entry.words[word], std::memory_order_relaxed);
            }
            uint64_t checked = entry.words[7] | uint64_t{entry_check(entry.words)} << 32;
            std::atomic_ref<uint64_t>(target[7]).store(checked, std::memory_order_relaxed);
            std::atomic_ref<uint64_t>(target[0]).store(((last_ticket + 1) << 1) | 1,
                                                       std::memory_order_release);
            index_[slot].store(key, std::memory_order_release);
            return true;
        }
    }
    return false;
}

uint32_t LiveTable::claim(wire::Object object, uint64_t address) {
    uint64_t key = key_of(object, address);
    Buckets buckets = buckets_of(key);
    for (uint32_t bucket : buckets.first_slot) {
        for (uint32_t i = 0; i < kSlotsPerBucket; ++i) {
            uint32_t slot = bucket + (buckets.start + i) % kSlotsPerBucket;
            uint64_t expected = key;
            if (index_[slot].load(std::memory_order_relaxed) != key ||
                !index_[slot].compare_exchange_strong(expected, key & ~kPublished,
                                                      std::memory_order_acq_rel)) {
                continue;
            }
            if (entries_[slot].object == object && entries_[slot].address == address) return slot;
            index_[slot].store(key, std::memory_order_release);
        }
    }
    return kNoSlot;
}

uint32_t LiveTable::find_oldest(wire::Object object, uint64_t address, uint64_t key) const {
    const Buckets buckets = buckets_of(key);
    uint32_t oldest = kNoSlot;
    uint64_t oldest_birth = ~uint64_t{0};
    wire::LiveEntry copy;
    for (uint32_t bucket : buckets.first_slot) {
        for (uint32_t slot = bucket; slot < bucket + kSlotsPerBucket; ++slot) {
            if (index_[slot].load(std::memory_order_relaxed) != key || !copy_entry(slot, copy) ||
                copy.object != object || copy.address != address || copy.birth_ticket >= oldest_birth) {
                continue;
            }
            oldest = slot;
            oldest_birth = copy.birth_ticket;
        }
    }
    return oldest;
}

// Not a hot path either. Between the look and the taking the slot may have become another object's.
uint32_t LiveTable::claim_oldest(wire::Object object, uint64_t address) {
    const uint64_t key = key_of(object, address);
    for (;;) {
        const uint32_t slot = find_oldest(object, address, key);
        if (slot == kNoSlot) return kNoSlot;
        uint64_t expected = key;
        if (!index_[slot].compare_exchange_strong(expected, key & ~kPublished, std::memory_order_acq_rel))
            continue;
        const bool is_it = entries_[slot].object == object && entries_[slot].address == address;
        const uint32_t older = find_oldest(object, address, key);
        if (is_it && (older == kNoSlot || entries_[older].birth_ticket > entries_[slot].birth_ticket))
            return slot;
        index_[slot].store(key, std::memory_order_release);
    }
}

// Not a hot path: a context ends, and every slot is looked at.
uint32_t LiveTable::claim_at_home(Home home, bool contexts, uint32_t& first_slot) {
    for (; first_slot < slot_count_; ++first_slot) {
        uint32_t slot = first_slot;
        uint64_t key = index_[slot].load(std::memory_order_acquire);
        if ((key & kPublished) == 0 || this->home(slot) != home ||
            !index_[slot].compare_exchange_strong(key, key & ~kPublished, std::memory_order_acq_rel)) {
            continue;
        }
        // Only now does the slot hold still. A block tells no home: what stands there is an earlier object's.
        wire::Object object = entries_[slot].object;
        if (this->home(slot) == home && object != wire::Object::block &&
            (object == wire::Object::context) == contexts) {
            return slot;
        }
        index_[slot].store(key, std::memory_order_release);
    }
    return kNoSlot;
}

void LiveTable::retire(uint32_t slot, uint64_t ticket) {
    std::atomic_ref<uint64_t>(entries_[slot].state).store((ticket + 1) << 1, std::memory_order_release);
    index_[slot].store(0, std::memory_order_release);
}

bool LiveTable::copy_entry(uint32_t slot, wire::LiveEntry& copy) const {
    constexpr int kTries = 4;  // an entry that changes while it is copied was not live at any one instant
    for (int i = 0; i < kTries; ++i) {
        if ((index_[slot].load(std::memory_order_acquire) & kPublished) == 0) return false;
        copy = load_entry(entries_[slot]);
        if (!is_live(copy)) return false;
        std::atomic_ref<uint64_t> state(entries_[slot].state);
        if (state.load(std::memory_order_acquire) == copy.state) return true;
    }
    return false;
}

bool LiveTable::peek(wire::Object object, uint64_t address, wire::LiveEntry& copy) const {
    uint64_t key = key_of(object, address);
    Buckets buckets = buckets_of(key);
    for (uint32_t bucket : buckets.first_slot) {
        for (uint32_t i = 0; i < kSlotsPerBucket; ++i) {
            uint32_t slot = bucket + (buckets.start + i) % kSlotsPerBucket;
            if (index_[slot].load(std::memory_order_relaxed) == key && copy_entry(slot, copy) &&
                copy.object == object && copy.address == address) {
                return true;
            }
        }
    }
    return false;
}

uint32_t LiveTable::copy_live(wire::LiveEntry* target, uint32_t capacity, uint32_t& dropped_count) const {
    uint32_t count = 0;
    dropped_count = 0;
    wire::LiveEntry copy;
    for (uint32_t slot = 0; slot < slot_count_; ++slot) {
        if (!copy_entry(slot, copy)) continue;
        if (count == capacity) {
            ++dropped_count;
        } else {
            target[count++] = copy;
        }
    }
    return count;
}

bool LiveTable::reserve_unused(uint32_t first_slot, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t expected = 0;
        uint32_t slot = first_slot + i;
        bool reserved = index_[slot].compare_exchange_strong(expected, kReserved, std::memory_order_acq_rel);
        bool unused =
            reserved && std::atomic_ref<uint64_t>(entries_[slot].state).load(std::memory_order_relaxed) == 0;
        if (unused) continue;
        release_reserved(first_slot, reserved ? i + 1 : i);
        return false;
    }
    return true;
}

void LiveTable::release_reserved(uint32_t first_slot, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        index_[first_slot + i].store(0, std::memory_order_release);
    }
}

}  // namespace memsnap::recorder
