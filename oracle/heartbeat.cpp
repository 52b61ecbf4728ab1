// SPDX-License-Identifier: Apache-2.0
//
// Boundaries that nobody marked, from the rhythm of the allocations (VERDICT.md §6). Rule: the heartbeat is
// what was freed most often; sixteen runs from its first allocation on; each run's lowest point is its
// boundary.
#include <map>
#include <set>
#include <unordered_map>

#include "points.h"
#include "thresholds.h"

namespace oracle {
namespace {

using Beat = std::pair<u64, u64>;  // stack, granted size

struct Beats {
    u64 freed = 0;
    u64 first_allocation = kNoTicket;
};

bool changes_thread_and_back(std::span<const Event* const> run) {
    std::set<u16> threads;
    std::size_t stretches = 0;
    for (std::size_t i = 0; i < run.size(); ++i) {
        threads.insert(run[i]->thread);
        stretches += i == 0 || run[i]->thread != run[i - 1]->thread ? 1 : 0;
    }
    return stretches > threads.size();
}

}  // namespace

std::optional<Points> infer_points(const Scene& scene, int device, u64 ticket) {
    using namespace thresholds;
    std::vector<const Event*> events;
    for (const auto& event : scene.recording.events) {
        if (event.ticket < ticket && event.device == device &&
            (event.kind == kBlockAlloc || event.kind == kBlockFree))
            events.push_back(&event);
    }
    std::map<Beat, Beats> beats;
    std::unordered_map<u64, const Life*> freed_at;
    for (const auto& life : scene.lives) {
        if (life.object != kBlock) continue;
        if (life.death < ticket) freed_at[life.death] = &life;
    }
    for (const auto* event : events) {
        if (event->kind == kBlockAlloc) {
            auto& beat = beats[{event->link, event->size}];
            beat.first_allocation = std::min(beat.first_allocation, event->ticket);
        } else if (auto life = freed_at.find(event->ticket); life != freed_at.end()) {
            ++beats[{life->second->site, life->second->size}].freed;
        }
    }
    const std::pair<const Beat, Beats>* best = nullptr;
    for (const auto& beat : beats) {
        if (beat.second.first_allocation == kNoTicket || beat.second.freed == 0) continue;
        if (best == nullptr || beat.second.freed > best->second.freed ||
            (beat.second.freed == best->second.freed &&
             beat.second.first_allocation < best->second.first_allocation))
            best = &beat;
    }
    if (best == nullptr) return std::nullopt;
    std::erase_if(events, [&](const Event* event) { return event->ticket < best->second.first_allocation; });
    std::size_t n = events.size();
    if (n < kInferredEventsNeeded) return std::nullopt;
    auto first_of = [&](std::size_t run) { return (run * n + kInferredRuns - 1) / kInferredRuns; };

    std::set<std::size_t> runs_of_freed;
    for (const auto* event : events) {
        auto life = freed_at.find(event->ticket);
        if (event->kind != kBlockFree || life == freed_at.end() ||
            Beat{life->second->site, life->second->size} != best->first)
            continue;
        auto born = std::lower_bound(events.begin(), events.end(), life->second->birth,
                                     [](const Event* e, u64 wanted) { return e->ticket < wanted; });
        if (born == events.end() || (*born)->ticket != life->second->birth) continue;
        auto index = static_cast<std::size_t>(born - events.begin());
        std::size_t run = 0;
        while (run + 1 < kInferredRuns && first_of(run + 1) <= index)
            ++run;
        runs_of_freed.insert(run);
    }
    if (runs_of_freed.size() < kInferredRunsNeeded) return std::nullopt;

    Points points;
    std::size_t certified_runs = 0;
    for (std::size_t run = 0; run < kInferredRuns; ++run) {
        std::span<const Event* const> part{events.data() + first_of(run), first_of(run + 1) - first_of(run)};
        certified_runs += changes_thread_and_back(part) ? 1 : 0;
        const Event* least = nullptr;
        for (const auto* event : part) {
            if (least == nullptr || event->allocated_bytes < least->allocated_bytes) least = event;
        }
        if (least == nullptr) return std::nullopt;
        points.list.push_back({least->ticket, least->allocated_bytes, least->reserved_bytes, {}});
    }
    points.basis = certified_runs >= kInferredRunsNeeded ? Basis::kCertified : Basis::kUncertified;
    return points;
}

}  // namespace oracle
