// SPDX-License-Identifier: Apache-2.0
//
// Counts survivors. Rule: with six points survivors are those of all steps but the first and the last two
// ends; without them everything since the first point is only an upper bound.
#include "growth.h"

#include "thresholds.h"

namespace oracle {
namespace {

// The ticket of the last failure of the device that was got over by the failing instant.
std::optional<u64> last_got_over(const Failures& failures, const Failed& failed) {
    std::optional<u64> last;
    for (const auto& other : failures.all) {
        if (other.event.device == failed.event.device && other.followed &&
            other.scope_end <= failed.event.ticket && other.event.ticket < failed.event.ticket)
            last = other.event.ticket;
    }
    return last;
}

bool was_repeated(const Scene& scene, const Points& points, const Failed& failed) {
    std::size_t k = points.list.size();
    if (k < thresholds::kBoundariesNeeded || failed.victim != Victim::kPytorch) return false;
    u64 after = points.list[k - 1 - thresholds::kComparedPairs].ticket;
    return std::any_of(scene.recording.events.begin(), scene.recording.events.end(), [&](const Event& event) {
        return event.kind == kBlockAlloc && event.device == failed.event.device &&
               event.link == failed.event.link && event.size == failed.event.size && event.ticket > after &&
               event.ticket <= points.list[k - 1].ticket;
    });
}

void add_survivor(const Life& block, std::size_t step, Survivors& survivors) {
    survivors.steps.insert(step);
    survivors.bytes += block.size;
    ++survivors.block_count;
    if (survivors.oldest == nullptr || born_before(block, *survivors.oldest)) survivors.oldest = &block;
    survivors.least_bytes = std::min(survivors.least_bytes, block.size);
    survivors.greatest_bytes = std::max(survivors.greatest_bytes, block.size);
}

}  // namespace

Growth growth_at(const Scene& scene, const Failures& failures, const Failed& failed, Int direct_bytes) {
    using namespace thresholds;
    u64 f = failed.event.ticket;
    int device = failed.event.device;
    Growth growth;
    growth.points = points_of(scene, device, f);
    const auto& points = growth.points.list;
    growth.growing_pairs = growth.points.growing_pairs();
    growth.request_repeated = was_repeated(scene, growth.points, failed);
    growth.retained_is_bound =
        growth.points.basis != Basis::kMarked && growth.points.basis != Basis::kCertified;

    const auto& header = scene.recording.file->header;
    auto live = blocks_at(scene.lives, device, f);
    if (header.late()) {
        growth.births_known_from = header.initial_until;
        growth.unknown_birth_bytes = std::max<Int>(0, scene.unseen_block_bytes(device, f));
    }
    // An `initial` tells that a block is there, not since when.
    std::erase_if(live, [&](const Life* block) {
        bool unknown = block->birth < growth.births_known_from;
        if (unknown) growth.unknown_birth_bytes += block->size;
        return unknown;
    });
    if (growth.points.basis == Basis::kTooFew || growth.points.basis == Basis::kLapped) {
        for (const auto* block : live) {
            if (points.empty() || (block->birth != kNoTicket && block->birth > points.front().ticket))
                growth.retained_bytes += block->size;
        }
        growth.retained_bytes += direct_bytes + growth.unknown_birth_bytes;
        return growth;
    }
    auto got_over = last_got_over(failures, failed);
    std::size_t k = points.size();
    growth.judged_steps = k - thresholds::kUnjudgedSteps;
    for (const auto* block : live) {
        // Survivor of step j (from 1): born in (b_j, b_j+1].
        auto end = std::lower_bound(points.begin(), points.end(), block->birth,
                                    [](const Point& point, u64 birth) { return point.ticket < birth; });
        if (end == points.begin() || end == points.end()) continue;
        auto j = static_cast<std::size_t>(end - points.begin());
        if (j < 2 || j + 2 > k) continue;
        if (got_over && block->birth < *got_over) {
            growth.kept_since_failure_bytes += block->size;
            continue;
        }
        add_survivor(*block, j, growth.survivors[site_of(*block)]);
    }
    std::erase_if(growth.survivors,
                  [](const auto& site) { return site.second.steps.size() < kSurvivorStepsNeeded; });
    for (const auto* block : blocks_at(scene.lives, device, f)) {
        auto found = growth.survivors.find(site_of(*block));
        if (found != growth.survivors.end()) found->second.live_bytes += block->size;
    }
    growth.grows = growth.growing_pairs >= kGrowingPairsNeeded;
    if (!growth.grows) return growth;
    for (const auto& [site, survivors] : growth.survivors)
        growth.retained_bytes += survivors.bytes;
    return growth;
}

}  // namespace oracle
