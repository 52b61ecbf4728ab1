// SPDX-License-Identifier: Apache-2.0
//
// Finds the block that each statement means. Rule: one walk over the addresses; the blocks that hold an
// address follow each other in time, so the last one born by the statement is the one meant.
#include "categories.h"

#include <map>
#include <set>

namespace oracle {
namespace {

constexpr std::array<Category, kCategories> kCategoryOfCode{
    Category::kUnknown, Category::kParameter, Category::kGradient,  Category::kOptimizerState,
    Category::kBuffer,  Category::kInput,     Category::kActivation};

struct Step {
    enum class What : u8 {
        kEnds,
        kBegins,
        kAsks
    };
    u64 address;
    What what;
    std::size_t index;  // of the life, or of the statement
};

using Holders = std::set<std::tuple<u64, u64, std::size_t>>;  // from, address, index of the life

Life* meant(const Holders& holders, std::vector<Life>& lives, u64 ticket) {
    auto after = holders.upper_bound({ticket, kNoTicket, lives.size()});
    std::optional<u64> from;
    while (after != holders.begin()) {
        --after;
        auto& life = lives[std::get<2>(*after)];
        // Only what a damaged table has twice at B begins together.
        if (from && *from != life.from) break;
        from = life.from;
        if (life.alive_at(ticket)) return &life;
    }
    return nullptr;
}

void tell_on_device(const std::vector<const Event*>& statements, int device, std::vector<Life>& lives) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < lives.size(); ++i) {
        const auto& life = lives[i];
        if (life.object != kBlock || life.device != device || life.size == 0) continue;
        steps.push_back({life.address, Step::What::kBegins, i});
        steps.push_back({life.end(), Step::What::kEnds, i});
    }
    for (std::size_t i = 0; i < statements.size(); ++i)
        steps.push_back({statements[i]->address, Step::What::kAsks, i});
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::tuple(a.address, a.what) < std::tuple(b.address, b.what);
    });
    Holders holders;
    for (const auto& step : steps) {
        if (step.what == Step::What::kAsks) {
            const auto& statement = *statements[step.index];
            if (auto* life = meant(holders, lives, statement.ticket))
                life->told.push_back({statement.ticket, kCategoryOfCode[statement.code]});
            continue;
        }
        std::tuple key(lives[step.index].from, lives[step.index].address, step.index);
        if (step.what == Step::What::kBegins) {
            holders.insert(key);
        } else {
            holders.erase(key);
        }
    }
}

}  // namespace

Category category_at(const Life& block, u64 ticket) {
    auto after = std::upper_bound(block.told.begin(), block.told.end(), ticket,
                                  [](u64 wanted, const Life::Told& told) { return wanted < told.ticket; });
    return after == block.told.begin() ? Category::kUnknown : std::prev(after)->category;
}

void tell_categories(const Recording& recording, std::vector<Life>& lives) {
    std::map<int, std::vector<const Event*>> statements;
    for (const auto& event : recording.events) {
        bool tells = event.kind == kCategory && event.code != 0 && event.code < kCategories;
        if (tells && event.device >= 0) statements[event.device].push_back(&event);
    }
    for (const auto& [device, of_device] : statements)
        tell_on_device(of_device, device, lives);
    for (auto& life : lives)
        std::sort(life.told.begin(), life.told.end(),
                  [](const Life::Told& a, const Life::Told& b) { return a.ticket < b.ticket; });
}

}  // namespace oracle
