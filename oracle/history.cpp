// SPDX-License-Identifier: Apache-2.0
//
// Peak, lifetimes and reconciliation over [B, f]. Rule: sums over sorted changes, never a state carried
// along.
#include "case.h"

namespace oracle {
namespace {

struct Change {
    u64 ticket;
    Int bytes;
};

void sort_changes(std::vector<Change>& changes) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.ticket < b.ticket; });
}

Json peak_of(const Incident& incident) {
    const auto& recording = incident.scene.recording;
    u64 f = incident.inputs.ticket;
    int device = incident.inputs.device;
    std::vector<Change> changes;
    for (const auto& life : incident.scene.lives) {
        if (life.object != kBlock || life.device != device || life.from > f) continue;
        changes.push_back({std::max(life.from, recording.begin), life.size});
        if (life.from == 0 && recording.begin != 0) changes.back().ticket = 0;
        if (life.death <= f) changes.push_back({life.death, -Int{life.size}});
    }
    sort_changes(changes);
    Int live = 0;
    auto change = changes.begin();
    // What was there before the first event counts at B.
    for (; change != changes.end() && change->ticket == 0 && recording.begin != 0; ++change)
        live += change->bytes;
    Int peak = live;
    u64 at = recording.begin;
    while (change != changes.end()) {
        u64 ticket = change->ticket;
        for (; change != changes.end() && change->ticket == ticket; ++change)
            live += change->bytes;
        if (live > peak) {
            peak = live;
            at = ticket;
        }
    }
    const Event* reserved = nullptr;
    for (const auto& event : recording.events) {
        bool counts = event.ticket <= f && event.device == device && event.is_report();
        if (counts && (reserved == nullptr || event.reserved_bytes > reserved->reserved_bytes))
            reserved = &event;
    }
    return Json::Object{{"active_bytes", peak},
                        {"active_ticket", at},
                        {"reserved_bytes", reserved != nullptr ? Json(reserved->reserved_bytes) : Json()},
                        {"reserved_ticket", reserved != nullptr ? Json(reserved->ticket) : Json()}};
}

Json lifetimes_of(const Incident& incident) {
    u64 f = incident.inputs.ticket, born = 0, freed = 0;
    Int total = 0;
    std::optional<Int> longest;
    for (const auto& life : incident.scene.lives) {
        if (life.object != kBlock || life.device != incident.inputs.device || !life.in_window ||
            life.from > f)
            continue;
        ++born;
        if (life.death > f || !life.freed) continue;
        ++freed;
        Int ticks = life.death - life.from;
        total += ticks;
        longest = std::max(longest.value_or(0), ticks);
    }
    return Json::Object{
        {"born_count", born}, {"freed_count", freed}, {"longest_ticks", longest}, {"total_ticks", total}};
}

Json reconciliation_of(const Incident& incident) {
    const auto& scene = incident.scene;
    int device = incident.inputs.device;
    std::vector<Change> changes;
    for (const auto& piece : scene.pieces) {
        if (piece.device != device) continue;
        changes.push_back({piece.from, piece.bytes});
        if (piece.to != kNoTicket) changes.push_back({piece.to, -piece.bytes});
    }
    sort_changes(changes);
    auto change = changes.begin();
    Int own = 0;
    u64 observations = 0, mismatches = 0;
    Int largest = 0;
    std::optional<Int> before;
    for (const auto& event : scene.recording.events) {
        if (event.ticket > incident.inputs.ticket) break;
        if (event.kind != kMemInfo || !is_observation(event, device)) continue;
        for (; change != changes.end() && change->ticket <= event.ticket; ++change)
            own += change->bytes;
        Int residual =
            Int{event.size} - event.link - scene.regions.held_at_observation.at(event.ticket) - own;
        ++observations;
        if (before && residual != *before) {
            ++mismatches;
            largest = std::max(largest, residual > *before ? residual - *before : *before - residual);
        }
        before = residual;
    }
    return Json::Object{{"observation_count", observations},
                        {"mismatch_count", mismatches},
                        {"largest_difference_bytes", observations < 2 ? Json() : Json(largest)}};
}

}  // namespace

void add_history(const Incident& incident, Json::Object& evidence) {
    evidence["peak"] = peak_of(incident);
    evidence["lifetimes"] = lifetimes_of(incident);
    evidence["reconciliation"] = reconciliation_of(incident);
}

}  // namespace oracle
