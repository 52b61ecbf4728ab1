// SPDX-License-Identifier: Apache-2.0
//
// Sums blocks by site. Rule: the order of the blocks decides between equal ones.
#include "site_sums.h"

namespace oracle {

Category SiteSum::category() const {
    auto most = std::max_element(category_bytes.begin(), category_bytes.end());
    return static_cast<Category>(most - category_bytes.begin());
}

std::map<Site, SiteSum> sum_by_site(const std::vector<const Life*>& blocks, u64 ticket) {
    std::map<Site, SiteSum> sums;
    for (const auto* block : blocks) {
        auto& sum = sums[site_of(*block)];
        sum.site = site_of(*block);
        sum.bytes += block->size;
        ++sum.block_count;
        sum.category_bytes[static_cast<std::size_t>(category_at(*block, ticket))] += block->size;
        u64 step = block->step.value_or(0);
        sum.first_step = std::min(sum.first_step, step);
        sum.last_step = std::max(sum.last_step, step);
        if (sum.oldest == nullptr || born_before(*block, *sum.oldest)) sum.oldest = block;
        if (sum.largest == nullptr || block->size > sum.largest->size) sum.largest = block;
    }
    return sums;
}

}  // namespace oracle
