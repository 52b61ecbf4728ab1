// SPDX-License-Identifier: Apache-2.0
//
// Which context an object ends with. The facts (CUDA driver API, cuCtxDestroy): what cuMemAlloc and its kin,
// arrays and imports make belongs to the context that is current. Pools, what comes from them, graphs' memory
// and what cuMemCreate, cuMemMap and cuMemAddressReserve make belong to none, and outlive even the reset of a
// device (github.com/JuliaGPU/CUDA.jl/issues/1579). The rule: while the program has made no context of its
// own, the current context is the primary one of the current device, and nobody is asked.
#pragma once

#include <atomic>
#include <cstdint>

#include "live_table.h"

namespace memsnap::recorder {

struct Event;
struct Recorder;

// The contexts that the program made itself. Part of what forked children see zeroed.
class OwnContexts {
  public:
    static constexpr uint32_t kCapacity = 254;

    bool any() const { return entered_.load(std::memory_order_acquire); }
    // The home of what is made in the context; Home::nobody when there is no room for another one.
    Home enter(uint64_t context);
    // Home::untold: none of ours.
    Home find(uint64_t context) const;
    // Takes the context out, and puts it back when its end was refused.
    void leave(Home home);
    void restore(Home home, uint64_t context);
    // Some context found no room: one that is not found need not be a primary one.
    bool has_overflowed() const { return overflowed_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> entered_;  // ever
    std::atomic<bool> overflowed_;
    std::atomic<uint64_t> contexts_[kCapacity];
};

Home primary_home(int8_t device);
bool is_own_context(Home home);

// The home of an object of that class that the calling thread has just made. A context is entered here.
Home home_of_birth(Recorder& recorder, const Event& born, wire::Object object);

}  // namespace memsnap::recorder
