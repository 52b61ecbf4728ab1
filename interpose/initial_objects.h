// SPDX-License-Identifier: Apache-2.0
//
// The objects that PyTorch's own list told, gathered before they are entered, and which addresses the ring
// has told something of since the list was begun. The rule: the ring is read like any reader reads it, a
// record counts once its commit is seen, and in ticket order, which is the allocator's order.
#pragma once

#include <cstdint>

#include "process.h"

namespace memsnap::recorder {

enum class Told : uint8_t {
    segment = 0,  // one of cudaMalloc
    block = 1,
    mapping = 2  // one mapped piece of an expandable segment
};

// The first event at an address since the list was begun.
enum class FirstEvent : uint8_t {
    none = 0,
    birth = 1,
    own_death = 2,   // of the object that was entered there
    other_death = 3  // of what the table did not hold, or held from before the list
};

struct InitialObject {
    uint64_t address;
    uint64_t size_bytes;
    Told told;
    int8_t device;
    bool is_entered;
};

class InitialObjects {
  public:
    static constexpr uint32_t kCapacity = uint32_t{1} << 21;

    // False: no memory. The ring is read from `head` on.
    bool open(uint64_t head);
    void close();
    // False: there is no room.
    bool add(const InitialObject& object);

    InitialObject* begin() { return objects_; }
    InitialObject* end() { return objects_ + count_; }
    uint32_t count() const { return count_; }

    // Reads the ring from where the last reading ended up to `head`.
    void read_ring(const Recorder& recorder, uint64_t head);
    FirstEvent first_event_of(const InitialObject& object) const;
    // Records left the ring before they were read, or there were too many: what was touched is not known.
    bool has_missed() const { return has_missed_; }

    // What a device's allocator reported last, as far as the ring was read.
    struct Totals {
        bool is_reported;
        uint64_t allocated_bytes;
        uint64_t reserved_bytes;
    };
    const Totals& totals(uint32_t device) const { return totals_[device]; }

  private:
    static constexpr uint32_t kTouchedCapacity = uint32_t{1} << 22;

    // Address, whether it is a block's, and its first event, in one word.
    uint32_t find(uint64_t address, bool is_block) const;
    void take(const wire::Record& record);
    bool wait_for(const Recorder& recorder, uint64_t ticket, wire::Record& copy);

    InitialObject* objects_ = nullptr;
    uint64_t* touched_ = nullptr;  // a hash table; 0: an unused place
    uint32_t count_ = 0;
    uint32_t touched_count_ = 0;
    uint64_t first_ticket_ = 0;
    uint64_t next_ticket_ = 0;
    bool has_missed_ = false;
    Totals totals_[wire::kDeviceCapacity] = {};
};

}  // namespace memsnap::recorder
