// SPDX-License-Identifier: Apache-2.0
//
// Tables of the evidence. Columns are named once; rows follow their order.
#include "receipt_scene.h"

#include "names.h"

namespace memsnap {
namespace {

// One row of a table as canonical text.
class Row {
  public:
    explicit Row(std::string& text) : text_(text) {
        if (text_.back() == ']') text_.push_back(',');
        text_.push_back('[');
    }
    ~Row() { text_.push_back(']'); }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    void add(std::string_view word) {
        separate();
        text_.push_back('"');
        text_ += word;
        text_.push_back('"');
    }
    // Big integers come out of Json, so that the rule about 2^53 is written once.
    void add(std::optional<uint64_t> value) {
        separate();
        Json(value).write(text_);
    }

  private:
    void separate() {
        if (text_.back() != '[') text_.push_back(',');
    }
    std::string& text_;
};

Json table(Vocabulary column, std::string rows) {
    const Words columns = words(column);
    rows.push_back(']');
    return Json::Object{{"columns", Json::Array(columns.begin(), columns.end())},
                        {"rows", Json::canonical(std::move(rows))}};
}

Json points_json(const std::vector<MatchedPoint>& points) {
    std::string rows = "[";
    for (const MatchedPoint& point : points) {
        Row row(rows);
        row.add(point.ticket);
        row.add(point.active_bytes);
        row.add(point.reserved_bytes);
        row.add(point.device_free_bytes);
    }
    return table(Vocabulary::point_column, std::move(rows));
}

Json survivors_json(const Scene& scene, const Dictionary& dictionary) {
    Json::Array survivors;
    for (const SurvivorSite& site : scene.survivors) {
        survivors.push_back(Json::Object{{"site", dictionary.site(site.key)},
                                         {"bytes", site.bytes},
                                         {"block_count", site.block_count},
                                         {"step_count", site.step_count},
                                         {"clean_step_count", site.clean_step_count},
                                         {"bytes_per_step", site.bytes_per_step()},
                                         {"oldest_ticket", site.oldest_ticket},
                                         {"oldest_step", site.oldest_step},
                                         {"least_block_bytes", site.least_block_bytes},
                                         {"greatest_block_bytes", site.greatest_block_bytes},
                                         {"live_bytes", site.live_bytes}});
    }
    return survivors;
}

}  // namespace

Json growth_json(const Incident& incident, const Dictionary& dictionary) {
    const Growth& growth = incident.evidence.growth;
    return Json::Object{{"basis", name(growth.basis)},
                        {"family", name(incident.boundaries.family)},
                        {"boundary_count", growth.boundary_count},
                        {"growing_pairs_count", growth.growing_pairs_count},
                        {"retained_bytes", growth.retained},
                        {"retained_is_bound", !growth.judged()},
                        {"unknown_birth_bytes", growth.unknown_births},
                        {"births_known_from_ticket", growth.births_known_from_ticket},
                        {"kept_since_failure_bytes", growth.kept_since_failure},
                        {"request_repeated", growth.request_repeated},
                        {"points", points_json(incident.boundaries.points)},
                        {"survivors", survivors_json(incident.scene, dictionary)}};
}

Json extents_json(const Scene& scene) {
    std::string rows = "[";
    for (const SceneExtent& listed : scene.extents) {
        const Extent& extent = listed.extent;
        const bool in_use = extent.live || extent.deferred;
        Row row(rows);
        row.add(extent.segment_ordinal);
        row.add(extent.offset_bytes);
        row.add(extent.size_bytes);
        row.add(name(extent.size_class));
        row.add(name(extent.segment_kind));
        row.add(state_name(extent));
        row.add(in_use ? kInUse : name(listed.compatibility));
        row.add(listed.site_ordinal);
        row.add(extent.live ? std::optional(extent.birth_ticket) : std::nullopt);
    }
    return table(Vocabulary::extent_column, std::move(rows));
}

Json sites_json(const Scene& scene, const Dictionary& dictionary) {
    Json::Array sites;
    for (const SiteShare& share : scene.sites) {
        sites.push_back(Json::Object{{"site", share.ordinal},
                                     {"has_stack", share.key.site != 0},
                                     {"bytes", share.bytes},
                                     {"block_count", share.block_count},
                                     {"retained_bytes", share.retained_bytes},
                                     {"first_step", share.first_step},
                                     {"last_step", share.last_step},
                                     {"phase", dictionary.phase(share.phase)},
                                     {"category", use_name(share.category)}});
    }
    return sites;
}

Json categories_json(const Scene& scene) {
    Json::Array categories;
    for (const CategoryShare& share : scene.categories) {
        categories.push_back(Json::Object{{"category", use_name(share.category)},
                                          {"bytes", share.bytes},
                                          {"block_count", share.block_count}});
    }
    return categories;
}

Json libraries_json(const Capture& capture, const Scene& scene, const Dictionary& dictionary) {
    Json::Array libraries;
    for (const ForeignBytes& foreign : scene.libraries) {
        libraries.push_back(Json::Object{{"library", dictionary.library(foreign.library)},
                                         {"role", name(capture.library_role(foreign.library))},
                                         {"bytes", foreign.bytes},
                                         {"allocation_count", foreign.count}});
    }
    return libraries;
}

Json peak_json(const Peak& peak) {
    return Json::Object{{"active_bytes", peak.active_bytes},
                        {"active_ticket", peak.active_ticket},
                        {"reserved_bytes", peak.reserved_bytes},
                        {"reserved_ticket", peak.reserved_ticket}};
}

Json lifetimes_json(const Lifetimes& lifetimes) {
    return Json::Object{{"born_count", lifetimes.born_count},
                        {"freed_count", lifetimes.freed_count},
                        {"longest_ticks", lifetimes.longest_ticks},
                        {"total_ticks", lifetimes.total_ticks}};
}

Json reconciliation_json(const Reconciliation& reconciliation) {
    return Json::Object{{"observation_count", reconciliation.observation_count},
                        {"mismatch_count", reconciliation.mismatch_count},
                        {"largest_difference_bytes", reconciliation.largest_difference_bytes}};
}

}  // namespace memsnap
