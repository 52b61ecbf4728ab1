// SPDX-License-Identifier: Apache-2.0
//
// What Python's cyclic garbage collector gave back (docs/receipt.md). Rule: a block counts when its own free
// fell into a collection; one that only a later block shows to be gone does not.
#include "case.h"
#include "thresholds.h"

namespace oracle {
namespace {

struct Freed {
    Site site;
    Int bytes = 0;
    u64 block_count = 0;
    u64 first = kNoTicket;
};

std::map<Site, Freed> freed_in_collections(const Incident& incident) {
    const auto& scene = incident.scene;
    Collections collections(scene.ranges);
    std::map<Site, Freed> by_site;
    for (const auto& life : scene.lives) {
        if (life.object != kBlock || life.device != incident.inputs.device || !life.freed ||
            life.death > incident.inputs.ticket)
            continue;
        const auto* free = scene.recording.at(life.death);
        if (free == nullptr || !collections.open_at(free->thread, free->ticket)) continue;
        auto& freed = by_site[site_of(life)];
        freed.site = site_of(life);
        freed.bytes += life.size;
        ++freed.block_count;
        freed.first = std::min(freed.first, free->ticket);
    }
    return by_site;
}

}  // namespace

void add_collections(const Incident& incident, Dictionary& dictionary, Json::Object& evidence) {
    u64 f = incident.inputs.ticket;
    u64 passes = 0;
    for (const auto& range : incident.scene.ranges)
        passes += range.family == kFamilyCollection && range.end <= f ? 1 : 0;
    std::optional<bool> switched_off;
    for (const auto& event : incident.scene.recording.events) {
        if (event.kind == kStep && event.ticket <= f) switched_off = (event.code & kStepCollectionOff) != 0;
    }
    Int bytes = 0;
    u64 blocks = 0;
    std::vector<Freed> sites;
    for (const auto& [site, freed] : freed_in_collections(incident)) {
        bytes += freed.bytes;
        blocks += freed.block_count;
        sites.push_back(freed);
    }
    std::sort(sites.begin(), sites.end(), [](const Freed& a, const Freed& b) {
        return std::tuple(-a.bytes, a.first) < std::tuple(-b.bytes, b.first);
    });
    sites.resize(std::min(sites.size(), thresholds::kListedSites));
    Json::Array rows;
    for (const auto& freed : sites)
        rows.emplace_back(Json::Object{{"site", dictionary.sites.of(freed.site)},
                                       {"bytes", freed.bytes},
                                       {"block_count", freed.block_count}});
    evidence["collections"] = Json::Object{{"pass_count", passes},
                                           {"freed_bytes", bytes},
                                           {"freed_block_count", blocks},
                                           {"switched_off", switched_off},
                                           {"rows", std::move(rows)}};
}

}  // namespace oracle
