// SPDX-License-Identifier: Apache-2.0
#include "slot_table.h"

#include "elf_lookup.h"

namespace memsnap::recorder {

constinit SlotTable g_slots{};

PatchedSlot* SlotTable::find(uintptr_t object, uintptr_t address) {
    for (PatchedSlot& slot : *this) {
        if (slot.address == address && slot.object() == object) return &slot;
    }
    return nullptr;
}

PatchedSlot* SlotTable::add(uintptr_t object, uint64_t identity, uintptr_t address) {
    PatchedSlot* place = nullptr;
    if (unused_count_ != 0) {
        for (PatchedSlot& slot : *this) {
            if (place == nullptr && slot.object() == 0) place = &slot;
        }
        --unused_count_;
    } else {
        if (count_ == kCapacity) return nullptr;
        place = &slots_[count_];
        __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELEASE);
    }
    place->identity = identity;
    place->address = address;
    place->set_original(0);
    place->function = Function::count;
    place->set_object(object);
    return place;
}

void SlotTable::forget(uintptr_t object, uint64_t identity_to_keep) {
    for (PatchedSlot& slot : *this) {
        if (slot.object() != object || slot.identity == identity_to_keep) continue;
        slot.set_object(0);
        ++unused_count_;
    }
}

std::atomic<const SlotKeeper*> g_slot_keeper{nullptr};

void tend_slots(Recorder& recorder) {
    if (const SlotKeeper* keeper = g_slot_keeper.load(std::memory_order_acquire)) keeper->tend(recorder);
}

bool give_back_slots() {
    const SlotKeeper* keeper = g_slot_keeper.load(std::memory_order_acquire);
    if (keeper == nullptr) return true;
    if (!keeper->restore()) return false;
    g_slot_keeper.store(nullptr, std::memory_order_release);
    return true;
}

void* original_behind_slot(uintptr_t return_address, Function function) {
    if (g_slots.begin() == g_slots.end()) return nullptr;
    const uintptr_t object = object_at(return_address).begin;
    for (PatchedSlot& slot : g_slots) {
        if (slot.object() != object || slot.function != function) continue;
        if (uintptr_t original = slot.original(); original != 0) return reinterpret_cast<void*>(original);
    }
    return nullptr;
}

}  // namespace memsnap::recorder
