// SPDX-License-Identifier: Apache-2.0
//
// The slots of other libraries that were put to our functions in a running process, with what they held. The
// rules: an entry is complete before its slot is changed, and hooks read entries without a lock; one thread
// at a time changes them (slot_sweep.h); an entry means something only while the object that it lies in is
// loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "hooked_functions.h"
#include "process.h"

namespace memsnap::recorder {

// Plain words, so that the table is zeroes and takes no page before it is used.
struct PatchedSlot {
    uintptr_t
        begin;  // where the object begins that it lies in; 0: nothing. Read and written by the two below
    uint64_t identity;  // of that object
    uintptr_t address;
    uintptr_t held;  // what it goes back to
    uintptr_t hook;
    uintptr_t reached;  // what a call through it reached; 0: not known
    Function function;  // Function::count: no function whose original belongs to its caller

    uintptr_t object() const { return __atomic_load_n(&begin, __ATOMIC_ACQUIRE); }
    void set_object(uintptr_t object) { __atomic_store_n(&begin, object, __ATOMIC_RELEASE); }
    uintptr_t original() const { return __atomic_load_n(&reached, __ATOMIC_ACQUIRE); }
    void set_original(uintptr_t original) { __atomic_store_n(&reached, original, __ATOMIC_RELEASE); }
};

class SlotTable {
  public:
    static constexpr uint32_t kCapacity = 65536;

    // The entry of a slot, or null.
    PatchedSlot* find(uintptr_t object, uintptr_t address);
    // A new one; null when there is no room.
    PatchedSlot* add(uintptr_t object, uint64_t identity, uintptr_t address);
    // The object is gone, or another one lies there.
    void forget(uintptr_t object, uint64_t identity_to_keep);

    PatchedSlot* begin() { return slots_; }
    PatchedSlot* end() { return slots_ + __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }

  private:
    uint32_t count_;
    uint32_t unused_count_;  // given-up places before `count_`
    PatchedSlot slots_[kCapacity];
};

// Of this process and its forked children.
extern SlotTable g_slots;

// Who keeps the slots put to us (slot_sweep.h); null in a process in which none are.
struct SlotKeeper {
    void (*tend)(Recorder& recorder);
    bool (*restore)();
};
extern std::atomic<const SlotKeeper*> g_slot_keeper;

// Side thread: what was loaded since comes under the hooks.
void tend_slots(Recorder& recorder);
// The recording has ended: all slots go back to what they held. False: some could not, and stay kept.
bool give_back_slots();

// What a call of that function from the library around `return_address` reached before its slot was put to
// us, or null.
void* original_behind_slot(uintptr_t return_address, Function function);

}  // namespace memsnap::recorder
