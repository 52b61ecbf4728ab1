// SPDX-License-Identifier: Apache-2.0
//
// Copies of the ledger, taken now and then while a window is replayed, so that an instant that turns out to
// matter later can be looked at again without replaying everything before it. The rule: as many events as
// the ledger has entries lie between two copies at least, so copying costs no more than replaying.
#pragma once

#include <cstdint>
#include <memory>

#include "ledger.h"
#include "window.h"

namespace memsnap {

struct Checkpoint {
    std::shared_ptr<const Ledger> ledger;  // nullptr: the window's begin
    uint64_t next_ticket = 0;              // of the first event that it lacks
};

class Checkpoints {
  public:
    // After each event of a replay.
    void take(const Event& event, const Ledger& ledger);
    const Checkpoint& last() const { return last_; }

  private:
    static constexpr uint64_t kLeast_count = 1 << 16;

    Checkpoint last_;
    uint64_t due_count_ = kLeast_count;  // events until the next copy
};

// The state after the event of a ticket, or the last one before it.
Ledger ledger_at(const Window& window, const Checkpoint& checkpoint, uint64_t ticket);

}  // namespace memsnap
