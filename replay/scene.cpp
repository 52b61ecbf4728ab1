// SPDX-License-Identifier: Apache-2.0
//
// Live blocks by birth site. Ordinals follow the order of the extent table, and of the blocks outside it
// after; so two passes over the blocks number them, and one adds them up.
#include "scene.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

namespace memsnap {
namespace {

void take_retained(const GrowthResult& growth, std::vector<SiteShare>& sites) {
    for (SiteShare& share : sites) {
        const auto kept = growth.retained_by_site.find(share.key);
        if (kept != growth.retained_by_site.end()) share.retained_bytes = kept->second;
    }
}

// Survivors are by key; they are listed as the sites are.
std::vector<SurvivorSite> survivors_as_listed(std::vector<SurvivorSite> by_key,
                                              const std::vector<SiteShare>& by_ordinal) {
    std::vector<SurvivorSite> survivors;
    for (const SiteShare& share : by_ordinal) {
        const auto found = std::ranges::lower_bound(by_key, share.key, {}, &SurvivorSite::key);
        if (found == by_key.end() || found->key != share.key) continue;
        survivors.push_back(*found);
        survivors.back().live_bytes = share.bytes;
    }
    std::ranges::stable_sort(survivors, std::greater{}, &SurvivorSite::bytes);
    return survivors;
}

class CategoryTable {
  public:
    void add(const Block& block) {
        CategoryShare& share = shares_[static_cast<size_t>(block.category)];
        share.bytes += block.size_bytes;
        ++share.block_count;
    }
    std::vector<CategoryShare> with_blocks() const {
        std::vector<CategoryShare> list;
        for (size_t at = 0; at < shares_.size(); ++at) {
            if (shares_[at].block_count == 0) continue;
            list.push_back(shares_[at]);
            list.back().category = static_cast<Category>(at);
        }
        return list;
    }

  private:
    std::array<CategoryShare, kCategoryCount> shares_;
};

}  // namespace

void describe_scene(const Ledger& ledger, const Event& failure, GrowthResult& growth, Scene& scene) {
    scene.step_count = ledger.step_count();
    scene.libraries = ledger.foreign(failure.device);
    SiteTable sites;
    // Blocks and rows are both in address order; a block outside every seen segment has no row.
    auto row = scene.extents.begin();
    const auto next_live = [&] {
        while (row != scene.extents.end() && !row->extent.live)
            ++row;
    };
    ledger.for_each_block(failure.device, [&](const Block& block) {
        next_live();
        if (row == scene.extents.end() || row->extent.birth_ticket != block.birth_ticket) return;
        row->site_ordinal = sites.number(block);
        ++row;
    });
    CategoryTable categories;
    ledger.for_each_block(failure.device, [&](const Block& block) {
        if (block.site == 0) scene.stackless_bytes += block.size_bytes;
        sites.add(block);
        categories.add(block);
    });
    scene.categories = categories.with_blocks();
    scene.sites = sites.take();
    scene.survivors = survivors_as_listed(std::move(growth.survivors), scene.sites);
    take_retained(growth, scene.sites);
    std::ranges::stable_sort(scene.sites, std::greater{}, &SiteShare::bytes);
    std::unordered_set<uint16_t> listed = {0};
    for (const SiteShare& share : scene.sites) {
        if (listed.insert(share.phase).second) scene.phases.push_back(share.phase);
    }
}

}  // namespace memsnap
