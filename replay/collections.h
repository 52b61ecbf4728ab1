// SPDX-License-Identifier: Apache-2.0
//
// What Python's cyclic garbage collection gave back: blocks freed while a collection ran on their thread were
// kept by reference cycles until then.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "measure.h"
#include "site_key.h"

namespace memsnap {

struct CollectedSite {
    SiteKey key;
    Wide bytes = 0;
    uint64_t block_count = 0;
};

struct Collections {
    uint64_t pass_count = 0;
    Wide freed_bytes = 0;
    uint64_t freed_block_count = 0;
    std::optional<bool> switched_off;  // as the last step said
    std::vector<CollectedSite> rows;   // those with most bytes
};

class CollectionWatch {
  public:
    void take_end() { ++found_.pass_count; }
    void take_step(const Event& step) { found_.switched_off = step.collection_off(); }
    void take_freed(const Block& block);  // of the device, in a collection
    Collections collections() const;

  private:
    Collections found_;  // without rows
    std::unordered_map<SiteKey, size_t, SiteKeyHash> index_;
    std::vector<CollectedSite> sites_;  // by their first free
};

}  // namespace memsnap
