// SPDX-License-Identifier: Apache-2.0
//
// Live blocks by birth site. Ordinals follow the order of the extent table, and of the blocks outside it
// after; so two passes over the blocks number them, and one adds them up.
#include "scene.h"

#include <algorithm>
#include <unordered_set>

namespace memsnap {
namespace {

class SiteTable {
  public:
    uint64_t number(const Block& block) {
        const SiteKey key = site_key(block.site, block.size_bytes);
        const auto [found, fresh] = index_.try_emplace(key, shares_.size());
        if (fresh) {
            shares_.push_back({});
            shares_.back().key = key;
            shares_.back().ordinal = shares_.size();
            shares_.back().first_step = block.step;
        }
        return found->second + 1;
    }

    void add(const Block& block) {
        SiteShare& share = shares_[number(block) - 1];
        share.bytes += block.size_bytes;
        ++share.block_count;
        share.first_step = std::min(share.first_step, block.step);
        share.last_step = std::max(share.last_step, block.step);
        if (block.size_bytes > share.largest_bytes) {
            share.largest_bytes = block.size_bytes;
            share.phase = block.phase;
        }
    }

    std::vector<SiteShare> largest_first(const RetainedBySite& retained) && {
        for (SiteShare& share : shares_) {
            const auto kept = retained.find(share.key);
            if (kept != retained.end()) share.retained_bytes = kept->second;
        }
        std::ranges::stable_sort(shares_, std::greater{}, &SiteShare::bytes);
        return std::move(shares_);
    }

  private:
    std::unordered_map<SiteKey, size_t, SiteKeyHash> index_;
    std::vector<SiteShare> shares_;
};

}  // namespace

void describe_scene(const Ledger& ledger, const Event& failure, const RetainedBySite& retained,
                    Scene& scene) {
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
    ledger.for_each_block(failure.device, [&](const Block& block) {
        if (block.site == 0) scene.stackless_bytes += block.size_bytes;
        sites.add(block);
    });
    scene.sites = std::move(sites).largest_first(retained);
    std::unordered_set<uint16_t> listed = {0};
    for (const SiteShare& share : scene.sites) {
        if (listed.insert(share.phase).second) scene.phases.push_back(share.phase);
    }
}

}  // namespace memsnap
