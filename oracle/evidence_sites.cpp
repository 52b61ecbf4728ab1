// SPDX-License-Identifier: Apache-2.0
//
// Sites at the peak, right before the failure, and between two points (docs/receipt.md). Rule: sites get
// their ordinals in the order in which the rows list them.
#include "balance.h"
#include "case.h"
#include "site_sums.h"
#include "thresholds.h"

namespace oracle {
namespace {

Json peak_document(const Scene& scene, int device, const Instant& instant, Dictionary& dictionary) {
    auto applied = instant.applied();
    auto blocks = applied ? blocks_at(scene.lives, device, *applied) : std::vector<const Life*>{};
    Int bytes = 0;
    std::vector<SiteSum> sums;
    for (auto& [site, sum] : sum_by_site(blocks, applied.value_or(0))) {
        bytes += sum.bytes;
        sums.push_back(sum);
    }
    std::sort(sums.begin(), sums.end(), [](const SiteSum& a, const SiteSum& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : born_before(*a.oldest, *b.oldest);
    });
    u64 site_count = sums.size();
    sums.resize(std::min(sums.size(), thresholds::kListedSites));
    Json::Array rows;
    for (const auto& sum : sums) {
        u16 phase = sum.largest->phase;
        rows.emplace_back(Json::Object{{"site", dictionary.sites.of(sum.site)},
                                       {"bytes", sum.bytes},
                                       {"block_count", sum.block_count},
                                       {"category", category_name(sum.category())},
                                       {"phase", phase == 0 ? u64{0} : dictionary.phases.of(phase)}});
    }
    return Json::Object{{"device", device},
                        {"ticket", instant.ticket},
                        {"site_count", site_count},
                        {"bytes", bytes},
                        {"rows", std::move(rows)}};
}

}  // namespace

void add_peak_sites(const Case& c, Dictionary& dictionary, Json::Object& evidence) {
    Json::Array list;
    auto add = [&](const Scene& scene, int device, const Sums::Peak& peak, bool is_failing) {
        list.push_back(peak_document(scene, device, {peak.ticket, peak.at_begin && !is_failing}, dictionary));
    };
    if (c.incident) {
        const auto& inputs = c.incident->inputs;
        add(c.incident->scene, inputs.device, c.incident->peak, c.incident->peak.ticket == inputs.ticket);
    } else {
        for (int device : devices_with_shapes(c, c.only_device))
            add(c.ring, device, c.ring.live_blocks(device).peak_by(c.ring.recording.last_ticket()), false);
    }
    evidence["peak_sites"] = std::move(list);
}

void add_recent(const Incident& incident, Dictionary& dictionary, Json::Object& evidence) {
    const auto& inputs = incident.inputs;
    std::vector<const Event*> births;
    for (const auto& event : incident.scene.recording.events) {
        if (event.kind == kBlockAlloc && event.device == inputs.device && event.ticket < inputs.ticket)
            births.push_back(&event);
    }
    if (births.size() > thresholds::kRecentAllocations)
        births.erase(births.begin(), births.end() - thresholds::kRecentAllocations);
    Ordinals<u16> threads;
    Json::Array list;
    for (const auto* birth : births) {
        bool live = std::any_of(inputs.state.blocks.begin(), inputs.state.blocks.end(),
                                [&](const Life* block) { return block->birth == birth->ticket; });
        Site site = birth->link != 0 ? Site{birth->link, 0} : Site{0, birth->size};
        list.emplace_back(Json::Object{{"ticket", birth->ticket},
                                       {"size_bytes", birth->size},
                                       {"site", dictionary.sites.of(site)},
                                       {"live", live},
                                       {"thread", threads.of(birth->thread)}});
    }
    evidence["recent"] = std::move(list);
}

void add_site_growth(const Incident& incident, Dictionary& dictionary, Json::Object& evidence) {
    const auto& scene = incident.scene;
    const auto& points = incident.growth.points;
    std::vector<u64> tickets;
    for (const auto& point : points.list) {
        if (point.ticket >= scene.recording.begin && point.ticket <= incident.inputs.ticket)
            tickets.push_back(point.ticket);
    }
    if (points.basis != Basis::kMarked || tickets.empty() || tickets.front() == tickets.back()) return;

    struct Row {
        Site site;
        Int from = 0, to = 0;
        const Life* oldest = nullptr;

        Int apart() const { return to > from ? to - from : from - to; }
    };
    std::map<Site, Row> by_site;
    for (bool at_end : {false, true}) {
        u64 ticket = at_end ? tickets.back() : tickets.front();
        for (const auto& [site, sum] :
             sum_by_site(blocks_at(scene.lives, incident.inputs.device, ticket), ticket)) {
            auto& row = by_site[site];
            row.site = site;
            (at_end ? row.to : row.from) = sum.bytes;
            if (row.oldest == nullptr || born_before(*sum.oldest, *row.oldest)) row.oldest = sum.oldest;
        }
    }
    std::vector<Row> rows;
    for (const auto& [site, row] : by_site) {
        if (row.apart() != 0) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        if (a.apart() != b.apart()) return a.apart() > b.apart();
        if ((a.to > a.from) != (b.to > b.from)) return a.to > a.from;
        return born_before(*a.oldest, *b.oldest);
    });
    rows.resize(std::min(rows.size(), thresholds::kListedSites));
    Json::Array list;
    for (const auto& row : rows)
        list.emplace_back(Json::Object{
            {"site", dictionary.sites.of(row.site)}, {"from_bytes", row.from}, {"to_bytes", row.to}});
    evidence["site_growth"] = Json::Object{{"from_ticket", tickets.front()},
                                           {"to_ticket", tickets.back()},
                                           {"pair_count", u64{tickets.size() - 1}},
                                           {"rows", std::move(list)}};
}

}  // namespace oracle
