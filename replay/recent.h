// SPDX-License-Identifier: Apache-2.0
//
// What was allocated right before the failing instant.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "event.h"
#include "ledger.h"
#include "site_key.h"

namespace memsnap {

struct RecentBirth {
    uint64_t ticket = 0;
    uint64_t size_bytes = 0;
    SiteKey key;
    bool live = false;            // at the failing instant
    uint64_t thread_ordinal = 0;  // from 1, by first appearance among these
};

// The last block_alloc events of one device.
class RecentLog {
  public:
    static constexpr size_t kKept_count = 16;

    void take(const Event& event) { events_[count_++ % kKept_count] = event; }
    // `ledger` is the state at the failing instant. By ticket.
    std::vector<RecentBirth> births(const Ledger& ledger) const;

  private:
    std::array<Event, kKept_count> events_;
    uint64_t count_ = 0;
};

}  // namespace memsnap
