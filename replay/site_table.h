// SPDX-License-Identifier: Apache-2.0
//
// Live blocks added up by birth site. The rule: sites are numbered from 1 as they first appear; nothing in
// here asks where they appear.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "site_key.h"

namespace memsnap {

// Live bytes born at one place.
struct SiteShare {
    SiteKey key;
    uint64_t ordinal = 0;  // from 1
    uint64_t bytes = 0;
    uint64_t block_count = 0;
    uint64_t retained_bytes = 0;
    uint64_t oldest_ticket = kNoTicket;  // least birth ticket
    uint64_t oldest_address = 0;         // of the first such block
    uint64_t largest_bytes = 0;
    uint32_t first_step = 0;  // steps ended before the births
    uint32_t last_step = 0;
    uint16_t phase = 0;                  // of the largest block, 0: none
    Category category = Category::none;  // that most of the bytes have; none: not told
};

class SiteTable {
  public:
    uint64_t number(const Block& block);
    void add(const Block& block);
    // By number. Leaves the table empty.
    std::vector<SiteShare> take();

  private:
    std::unordered_map<SiteKey, size_t, SiteKeyHash> index_;
    std::vector<SiteShare> shares_;
    // By site and category; sites without a told category are not in here.
    std::unordered_map<size_t, std::array<uint64_t, kCategoryCount>> categories_;
};

// Those with most bytes; equal ones by their oldest live block.
std::vector<SiteShare> largest_sites(std::vector<SiteShare> sites);

}  // namespace memsnap
