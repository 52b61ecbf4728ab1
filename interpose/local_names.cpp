// SPDX-License-Identifier: Apache-2.0
#include "local_names.h"

#include "cpu.h"
#include "names.h"
#include "process.h"
#include "text.h"

namespace memsnap::recorder {
namespace {

constexpr int kWaitTries = 1000;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

size_t fold(const char* text, size_t text_bytes, char (&folded)[kMarkText_bytes]) {
    size_t size = 0;
    for (size_t i = 0; i < text_bytes; ++i) {
        if (is_digit(text[i])) {
            if (i == 0 || !is_digit(text[i - 1])) folded[size++] = '#';
        } else {
            folded[size++] = text[i];
        }
    }
    return size;
}

uint64_t key_of(uint64_t hash) {
    uint64_t key = mix(hash);
    return key == 0 ? 1 : key;
}

struct Found {
    LocalNames::Slot* slot = nullptr;  // null: no room
    bool fresh = false;                // claimed by us: its ids are ours to store
};

Found find(LocalNames& names, uint64_t key) {
    for (uint32_t i = 0; i < LocalNames::kSlotCount; ++i) {
        LocalNames::Slot& slot = names.slots[(key + i) % LocalNames::kSlotCount];
        uint64_t there = slot.key.load(std::memory_order_acquire);
        if (there == 0) {
            if (names.count.load(std::memory_order_relaxed) >= LocalNames::kCapacity) return {};
            if (slot.key.compare_exchange_strong(there, key, std::memory_order_acq_rel)) return {&slot, true};
        }
        if (there == key) return {&slot, false};
    }
    return {};
}

// What the thread that claimed the slot stores in it soon; 0 when it does not.
uint32_t wait_for_ids(const LocalNames::Slot& slot) {
    uint32_t ids = slot.ids.load(std::memory_order_acquire);
    for (int i = 0; i < kWaitTries && ids == 0; ++i) {
        pause_processor();
        ids = slot.ids.load(std::memory_order_acquire);
    }
    return ids;
}

NameIds unpack(uint32_t ids) {
    return {static_cast<uint16_t>(ids >> 16), static_cast<uint16_t>(ids), false};
}

uint16_t next_id(LocalNames& names) {
    return static_cast<uint16_t>(names.count.fetch_add(1, std::memory_order_relaxed) + 1);
}

// `folded` 0: the text is its own folded name.
NameIds enter(Recorder& recorder, uint64_t key, uint16_t folded, const char* text, size_t text_bytes) {
    Found found = find(recorder.local_names, key);
    if (found.slot == nullptr) {
        bump(recorder.header->counters.names_dropped);
        return {0, folded, false};
    }
    if (!found.fresh) {
        NameIds ids = unpack(wait_for_ids(*found.slot));
        if (ids.exact == 0) bump(recorder.header->counters.names_dropped);
        return ids;
    }
    NameIds ids;
    ids.exact = next_id(recorder.local_names);
    ids.folded = folded == 0 ? ids.exact : folded;
    ids.fresh = true;
    found.slot->ids.store(ids.pack(), std::memory_order_release);
    intern(recorder, wire::NameKind::name, ids.exact, text, text_bytes);
    return ids;
}

// Without claiming anything: whether the key is known, and its ids.
bool look_up(LocalNames& names, uint64_t key, NameIds& ids) {
    for (uint32_t i = 0; i < LocalNames::kSlotCount; ++i) {
        const LocalNames::Slot& slot = names.slots[(key + i) % LocalNames::kSlotCount];
        uint64_t there = slot.key.load(std::memory_order_acquire);
        if (there == 0) return false;
        if (there != key) continue;
        ids = unpack(slot.ids.load(std::memory_order_acquire));
        return ids.exact != 0;
    }
    return false;
}

}  // namespace

size_t kept_bytes(const char* text, size_t text_bytes) {
    return whole_characters(text, text_bytes, kMarkText_bytes);
}

NameIds ids_of_text(Recorder& recorder, const char* text, size_t text_bytes) {
    text_bytes = kept_bytes(text, text_bytes);
    if (text_bytes == 0) return {};
    uint64_t key = key_of(fnv1a(text, text_bytes));
    NameIds ids;
    if (look_up(recorder.local_names, key, ids)) return ids;
    char folded[kMarkText_bytes];
    size_t folded_bytes = fold(text, text_bytes, folded);
    uint64_t folded_key = key_of(fnv1a(folded, folded_bytes));
    if (folded_key == key) return enter(recorder, key, 0, text, text_bytes);
    NameIds group = enter(recorder, folded_key, 0, folded, folded_bytes);
    return enter(recorder, key, group.exact, text, text_bytes);
}

NameIds ids_of_place(Recorder& recorder, uint64_t place, Describe* describe, const void* what) {
    // Apart from the keys of texts, whose hashes are not inverted.
    uint64_t key = key_of(~mix(place));
    NameIds ids;
    LocalNames& names = recorder.local_names;
    if (look_up(names, key, ids)) return ids;
    if (names.place_count.load(std::memory_order_relaxed) >= LocalNames::kPlaceCapacity) {
        bump(recorder.header->counters.names_dropped);
        return {};
    }
    char text[kMarkText_bytes];
    size_t text_bytes = describe(what, text, sizeof text);
    ids = enter(recorder, key, 0, text, text_bytes);
    if (ids.fresh) names.place_count.fetch_add(1, std::memory_order_relaxed);
    return ids;
}

}  // namespace memsnap::recorder
