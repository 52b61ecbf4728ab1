// SPDX-License-Identifier: Apache-2.0
//
// Collected blocks by site.
#include "collections.h"

#include <algorithm>
#include <functional>

namespace memsnap {

void CollectionWatch::take_freed(const Block& block) {
    found_.freed_bytes += block.size_bytes;
    ++found_.freed_block_count;
    const SiteKey key = site_key(block.site, block.size_bytes);
    const auto [found, fresh] = index_.try_emplace(key, sites_.size());
    if (fresh) sites_.push_back({key, 0, 0});
    sites_[found->second].bytes += block.size_bytes;
    ++sites_[found->second].block_count;
}

Collections CollectionWatch::collections() const {
    Collections result = found_;
    result.rows = sites_;
    std::ranges::stable_sort(result.rows, std::greater{}, &CollectedSite::bytes);
    if (result.rows.size() > kListedSites_most) result.rows.resize(kListedSites_most);
    return result;
}

}  // namespace memsnap
