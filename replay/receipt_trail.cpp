// SPDX-License-Identifier: Apache-2.0
//
// Lists of objects, in the order they come in.
#include "receipt_trail.h"

#include "names.h"

namespace memsnap {

Json peak_sites_json(const std::vector<PeakSites>& peaks, const Dictionary& dictionary) {
    Json::Array list;
    for (const PeakSites& peak : peaks) {
        Json::Array rows;
        for (const SiteShare& share : peak.rows) {
            rows.push_back(Json::Object{{"site", dictionary.site(share.key)},
                                        {"bytes", share.bytes},
                                        {"block_count", share.block_count},
                                        {"category", use_name(share.category)},
                                        {"phase", dictionary.phase(share.phase)}});
        }
        list.push_back(Json::Object{{"device", peak.device},
                                    {"ticket", peak.ticket},
                                    {"site_count", peak.site_count},
                                    {"bytes", peak.bytes},
                                    {"rows", std::move(rows)}});
    }
    return list;
}

Json recent_json(const Trail& trail, const Dictionary& dictionary) {
    Json::Array births;
    for (const RecentBirth& birth : trail.recent) {
        births.push_back(Json::Object{{"ticket", birth.ticket},
                                      {"size_bytes", birth.size_bytes},
                                      {"site", dictionary.site(birth.key)},
                                      {"live", birth.live},
                                      {"thread", birth.thread_ordinal}});
    }
    return births;
}

Json site_growth_json(const Trail& trail, const Dictionary& dictionary) {
    if (!trail.site_growth) return {};
    Json::Array rows;
    for (const SiteGrowthRow& row : trail.site_growth->rows) {
        rows.push_back(Json::Object{
            {"site", dictionary.site(row.key)}, {"from_bytes", row.from_bytes}, {"to_bytes", row.to_bytes}});
    }
    return Json::Object{{"from_ticket", trail.site_growth->from_ticket},
                        {"to_ticket", trail.site_growth->to_ticket},
                        {"pair_count", trail.site_growth->pair_count},
                        {"rows", std::move(rows)}};
}

Json collections_json(const Trail& trail, const Dictionary& dictionary) {
    const Collections& collections = trail.collections;
    Json::Array rows;
    for (const CollectedSite& row : collections.rows) {
        rows.push_back(Json::Object{
            {"site", dictionary.site(row.key)}, {"bytes", row.bytes}, {"block_count", row.block_count}});
    }
    return Json::Object{{"pass_count", collections.pass_count},
                        {"freed_bytes", collections.freed_bytes},
                        {"freed_block_count", collections.freed_block_count},
                        {"switched_off", collections.switched_off},
                        {"rows", std::move(rows)}};
}

Json dimension_effects_json(const Trail& trail, const Dictionary& dictionary) {
    Json::Array effects;
    for (const DimensionEffect& effect : trail.dimension_effects) {
        effects.push_back(Json::Object{{"dimension", dictionary.dimension(effect.dimension)},
                                       {"interval_count", effect.interval_count},
                                       {"changed_count", effect.changed_count},
                                       {"together_count", effect.together_count},
                                       {"least_value", Wide{effect.least_value}},
                                       {"greatest_value", Wide{effect.greatest_value}},
                                       {"peak_bytes", effect.peak_bytes},
                                       {"value_at_peak", Wide{effect.value_at_peak}}});
    }
    return effects;
}

Json requests_json(const std::vector<Requests>& devices) {
    Json::Array list;
    for (const Requests& requests : devices) {
        list.push_back(Json::Object{{"device", requests.device},
                                    {"ticket", requests.ticket},
                                    {"granted_bytes", requests.granted_bytes},
                                    {"requested_bytes", requests.requested_bytes},
                                    {"told_block_count", requests.told_block_count},
                                    {"told_granted_bytes", requests.told_granted_bytes},
                                    {"told_requested_bytes", requests.told_requested_bytes},
                                    {"told_rounding_bytes", requests.told_rounding_bytes},
                                    {"told_kept_bytes", requests.told_kept_bytes()}});
    }
    return list;
}

}  // namespace memsnap
