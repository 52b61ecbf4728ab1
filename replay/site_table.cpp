// SPDX-License-Identifier: Apache-2.0
//
// Numbering, adding up, and the category that most bytes of a site have.
#include "site_table.h"

#include <algorithm>
#include <tuple>

namespace memsnap {

uint64_t SiteTable::number(const Block& block) {
    const SiteKey key = site_key(block.site, block.size_bytes);
    const auto [found, fresh] = index_.try_emplace(key, shares_.size());
    if (fresh) {
        SiteShare& share = shares_.emplace_back();
        share.key = key;
        share.ordinal = shares_.size();
        share.first_step = block.step;
    }
    return found->second + 1;
}

void SiteTable::add(const Block& block) {
    const size_t index = number(block) - 1;
    SiteShare& share = shares_[index];
    share.bytes += block.size_bytes;
    ++share.block_count;
    if (std::tie(block.birth_ticket, block.address) < std::tie(share.oldest_ticket, share.oldest_address) ||
        share.block_count == 1) {
        share.oldest_ticket = block.birth_ticket;
        share.oldest_address = block.address;
    }
    share.first_step = std::min(share.first_step, block.step);
    share.last_step = std::max(share.last_step, block.step);
    if (block.size_bytes > share.largest_bytes) {
        share.largest_bytes = block.size_bytes;
        share.phase = block.phase;
    }
    if (block.category != Category::none)
        categories_[index][static_cast<size_t>(block.category)] += block.size_bytes;
}

std::vector<SiteShare> SiteTable::take() {
    for (auto& [index, bytes] : categories_) {
        uint64_t told = 0;
        for (const uint64_t part : bytes)
            told += part;
        bytes[0] = shares_[index].bytes - told;
        shares_[index].category = static_cast<Category>(std::ranges::max_element(bytes) - bytes.begin());
    }
    index_.clear();
    categories_.clear();
    return std::move(shares_);
}

std::vector<SiteShare> largest_sites(std::vector<SiteShare> sites) {
    const auto larger = [](const SiteShare& a, const SiteShare& b) {
        return std::tie(b.bytes, a.oldest_ticket, a.oldest_address) <
               std::tie(a.bytes, b.oldest_ticket, b.oldest_address);
    };
    const size_t count = std::min(sites.size(), kListedSites_most);
    std::ranges::partial_sort(sites, sites.begin() + static_cast<ptrdiff_t>(count), larger);
    sites.resize(count);
    return sites;
}

}  // namespace memsnap
