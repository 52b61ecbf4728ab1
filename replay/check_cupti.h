// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's word against ours: device memory that was allocated and released in the window, as two witnesses
// told it. The rule: they are compared as multisets of address and size, since they tell in their own order;
// where one of them cannot have seen everything, what stands alone is counted and proves nothing. CUPTI
// starts after the job and its last buffer may be lost: what lies before the first act that both saw, or
// behind the last, needs no second witness.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replay.h"

namespace memsnap {

class CuptiComparison {
  public:
    // After each event of a replay.
    void operator()(const Event& event, const Ledger& ledger, const Change& change);

    // A line of text, empty without records of CUPTI's; or the first difference.
    Result<std::string> result(const Capture& capture) const;

  private:
    struct Told {
        std::vector<uint64_t> ours;  // tickets
        uint64_t cupti_count = 0;
        uint64_t cupti_ticket = kNoTicket;  // of its first record
    };
    using Acts = std::map<std::pair<uint64_t, uint64_t>, Told>;  // by address and size
    struct Sums;

    void take_record(const Event& event);
    Sums compared() const;

    Acts allocations_;
    Acts releases_;
    uint64_t record_count_ = 0;
};

}  // namespace memsnap
