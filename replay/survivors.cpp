// SPDX-License-Identifier: Apache-2.0
//
// Survivors by site.
#include "survivors.h"

#include <algorithm>

#include "policy.h"

namespace memsnap {

void SurvivorTable::add(const Block& block, size_t step) {
    const SiteKey key = site_key(block.site, block.size_bytes);
    const auto [found, fresh] = index_.try_emplace(key, sites_.size());
    if (fresh) {
        sites_.push_back({});
        sites_.back().key = key;
        sites_.back().least_block_bytes = block.size_bytes;
    }
    SurvivorSite& site = sites_[found->second];
    site.bytes += block.size_bytes;
    ++site.block_count;
    site.least_block_bytes = std::min(site.least_block_bytes, block.size_bytes);
    site.greatest_block_bytes = std::max(site.greatest_block_bytes, block.size_bytes);
    if (block.birth_ticket < site.oldest_ticket) {
        site.oldest_ticket = block.birth_ticket;
        site.oldest_step = block.step;
    }
    const std::pair mark(found->second, step);
    if (steps_.empty() || steps_.back() != mark) steps_.push_back(mark);
}

std::vector<SurvivorSite> SurvivorTable::sites(uint64_t judged_step_count) {
    std::ranges::sort(steps_);
    const auto again = std::ranges::unique(steps_);
    steps_.erase(again.begin(), again.end());
    for (const auto& [site, step] : steps_)
        ++sites_[site].step_count;
    std::erase_if(sites_, [](const SurvivorSite& site) {
        return site.step_count < policy::kSurvivorStepsNeeded_count;
    });
    for (SurvivorSite& site : sites_)
        site.clean_step_count = judged_step_count - site.step_count;
    std::ranges::sort(sites_, {}, &SurvivorSite::key);
    return std::move(sites_);
}

}  // namespace memsnap
