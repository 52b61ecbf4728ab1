// SPDX-License-Identifier: Apache-2.0
//
// Sites that keep leaving blocks behind: of each, what its survivors of the judged steps are. The rule: a
// site counts when it left some in at least three different steps, whether active grows or not.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger.h"
#include "site_key.h"

namespace memsnap {

struct SurvivorSite {
    SiteKey key;
    uint64_t bytes = 0;
    uint64_t block_count = 0;
    uint64_t step_count = 0;        // in which it left some
    uint64_t clean_step_count = 0;  // judged steps in which it left none
    uint64_t oldest_ticket = kNoTicket;
    uint32_t oldest_step = 0;  // steps ended before that
    uint64_t least_block_bytes = 0;
    uint64_t greatest_block_bytes = 0;
    uint64_t live_bytes = 0;  // of the site in all

    uint64_t bytes_per_step() const { return step_count == 0 ? 0 : bytes / step_count; }
};

class SurvivorTable {
  public:
    void add(const Block& block, size_t step);
    // Those that left some in enough steps; by key.
    std::vector<SurvivorSite> sites(uint64_t judged_step_count);

  private:
    std::unordered_map<SiteKey, size_t, SiteKeyHash> index_;
    std::vector<SurvivorSite> sites_;
    std::vector<std::pair<size_t, size_t>> steps_;  // of each survivor: its site and its step
};

}  // namespace memsnap
