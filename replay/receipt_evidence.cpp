// SPDX-License-Identifier: Apache-2.0
//
// Evidence and verdict as JSON. Sites are ordinals by first appearance; extents are rows of integers and
// words.
#include "receipt_evidence.h"

#include <algorithm>

#include "names.h"

namespace memsnap {
namespace {

Json exact(const Measure& measure) {
    return measure.exact() ? Json(measure.low) : Json();
}

Json::Array words(const std::vector<std::string_view>& names) {
    Json::Array array;
    for (const std::string_view word : names)
        array.emplace_back(word);
    return array;
}

Json failure_json(const Incident& incident) {
    const Evidence& evidence = incident.evidence;
    const Event& event = incident.failure.event;
    return Json::Object{{"device", evidence.device},
                        {"allocator", name(evidence.allocator)},
                        {"request_bytes", exact(evidence.request)},
                        {"segment_request_bytes", exact(evidence.segment_request)},
                        {"device_call", name(evidence.device_call)},
                        {"operation", name(event.op)},
                        {"ticket", event.ticket},
                        {"steps_ended_count", incident.scene.step_count},
                        {"free_observed_at_failure", evidence.free_observed_at_failure}};
}

struct Field {
    std::string_view name;
    Json value;
    Provenance provenance;
};

Field field(std::string_view name, const Measure& measure) {
    return {name, exact(measure), measure.exact() ? measure.provenance : Provenance::unknown};
}

Field derived(std::string_view name, bool known, Json value) {
    return {name, known ? std::move(value) : Json(), known ? Provenance::derived : Provenance::unknown};
}

std::vector<Field> ledger_fields(const Incident& incident) {
    const Evidence& evidence = incident.evidence;
    const Extents& extents = evidence.extents;
    const bool settled = incident.verdict.numbers.has_value();
    const Numbers numbers = incident.verdict.numbers.value_or(Numbers{});
    // Numbers are those of the low ends: where device-free is only bounded, what follows from it is not a
    // number.
    const bool device_known = settled && evidence.device_free.exact();
    return {field("total_bytes", evidence.total),
            field("device_free_bytes", evidence.device_free),
            field("reserved_bytes", evidence.reserved),
            field("allocated_bytes", evidence.allocated),
            field("deferred_bytes", evidence.deferred),
            field("cap_bytes", evidence.cap),
            derived("active_bytes", settled, numbers.active),
            derived("slack_bytes", settled, numbers.slack),
            derived("outside_bytes", device_known, numbers.outside),
            derived("margin_bytes", device_known, numbers.margin),
            derived("threshold_bytes", settled, numbers.threshold),
            derived("largest_free_extent_bytes", extents.known, extents.largest_not_excluded),
            derived("largest_compatible_extent_bytes", extents.known, extents.largest_compatible),
            derived("reusable_free_bytes", extents.known, extents.reusable),
            derived("fragmented_free_bytes", extents.known, extents.fragmented),
            derived("incompatible_free_bytes", extents.known, extents.incompatible),
            derived("unseen_segment_bytes", true, evidence.unseen_segment_bytes),
            derived("uncertainty_bytes", true, evidence.uncertainty)};
}

Json input_json(const Input& input) {
    Json::Object object{{"value", exact(input.value)}, {"provenance", name(input.value.provenance)}};
    if (input.value.known() && !input.value.exact()) {
        object["low"] = input.value.low;
        object["high"] = input.value.high;
    }
    return object;
}

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json hypothesis_json(const Incident& incident, Hypothesis one) {
    const Finding& finding = incident.verdict.of(one);
    const Explanation& explanation = incident.explanations[static_cast<unsigned>(one)];
    Json::Object inputs;
    for (const Input& input : explanation.inputs)
        inputs[std::string(input.name)] = input_json(input);
    Json::Object object{{"status", name(finding.status)},
                        {"margin_bytes", finding.margin},
                        {"qualifiers", words(finding.qualifiers.names())},
                        {"inequality", inequality(explanation)},
                        {"inputs", std::move(inputs)},
                        {"fix", text_or_null(explanation.fix)},
                        {"proof", text_or_null(explanation.proof)},
                        {"probe", text_or_null(explanation.probe)}};
    // Only where the unknowns leave the margin open.
    if (finding.margin != finding.margin_high) object["margin_high_bytes"] = finding.margin_high;
    return object;
}

void append_cell(std::string& row, std::string_view word) {
    if (row.back() != '[') row.push_back(',');
    row.push_back('"');
    row += word;
    row.push_back('"');
}

// Big integers come out of Json, so that the rule about 2^53 is written once.
void append_cell(std::string& row, uint64_t value) {
    if (row.back() != '[') row.push_back(',');
    Json(value).write(row);
}

Json extents_json(const Scene& scene) {
    std::string rows = "[";
    for (const SceneExtent& row : scene.extents) {
        if (rows.back() == ']') rows.push_back(',');
        rows.push_back('[');
        const Extent& extent = row.extent;
        append_cell(rows, extent.segment_ordinal);
        append_cell(rows, extent.offset_bytes);
        append_cell(rows, extent.size_bytes);
        append_cell(rows, name(extent.size_class));
        append_cell(rows, extent.live ? "live" : (extent.deferred ? "deferred" : "free"));
        append_cell(rows, extent.live || extent.deferred ? "in_use" : name(row.compatibility));
        append_cell(rows, row.site_ordinal);
        rows.push_back(']');
    }
    rows.push_back(']');
    return Json::Object{{"columns", Json::Array{"segment", "offset_bytes", "size_bytes", "class", "state",
                                                "compatibility", "site"}},
                        {"rows", Json::canonical(std::move(rows))}};
}

Json sites_json(const Scene& scene) {
    Json::Array sites;
    for (const SiteShare& share : scene.sites) {
        sites.push_back(Json::Object{{"site", share.ordinal},
                                     {"has_stack", share.key.site != 0},
                                     {"bytes", share.bytes},
                                     {"block_count", share.block_count},
                                     {"retained_bytes", share.retained_bytes},
                                     {"first_step", share.first_step},
                                     {"last_step", share.last_step}});
    }
    return sites;
}

Json libraries_json(const Scene& scene) {
    Json::Array libraries;
    for (const ForeignBytes& foreign : scene.libraries) {
        libraries.push_back(Json::Object{{"library", uint64_t{foreign.library}},
                                         {"bytes", foreign.bytes},
                                         {"allocation_count", foreign.count}});
    }
    return libraries;
}

Json failures_json(const Failures& failures) {
    Json::Array listed;
    for (const Failure& failure : failures.listed) {
        listed.push_back(Json::Object{{"ticket", failure.event.ticket},
                                      {"device", int{failure.event.device}},
                                      {"allocator", name(failure.allocator)},
                                      {"request_bytes", failure.event.size_bytes},
                                      {"chain", failure.chain},
                                      {"followed", failure.followed}});
    }
    return listed;
}

Json near_misses_json(const Failures& failures) {
    Json::Array listed;
    for (const NearMiss& miss : failures.near_misses) {
        listed.push_back(Json::Object{{"kind", name(miss.kind)},
                                      {"ticket", miss.ticket},
                                      {"device", miss.device},
                                      {"request_bytes", miss.request_bytes},
                                      {"failed_calls_count", miss.failed_calls_count},
                                      {"operation", name(miss.op)}});
    }
    return listed;
}

Json lane_json(const Lane& lane) {
    return Json::Object{{"shape", name(lane.shape)},
                        {"first_bytes", lane.first_bytes},
                        {"last_bytes", lane.last_bytes},
                        {"max_bytes", lane.max_bytes},
                        {"point_count", lane.point_count}};
}

Json shapes_json(const Analysis& analysis) {
    Json::Array shapes;
    for (const DeviceShapes& device : analysis.shapes) {
        shapes.push_back(Json::Object{{"device", device.device},
                                      {"total_bytes", device.total_bytes},
                                      {"boundaries", name(device.basis)},
                                      {"active", lane_json(device.active)},
                                      {"reserved", lane_json(device.reserved)},
                                      {"outside", lane_json(device.outside)}});
    }
    return shapes;
}

}  // namespace

Json::Object evidence_json(const Analysis& analysis) {
    Json::Object evidence{{"failures", failures_json(analysis.failures)},
                          {"near_misses", near_misses_json(analysis.failures)},
                          {"failure", {}},
                          {"ledgers", {}},
                          {"hypotheses", {}},
                          {"shapes", {}},
                          {"provenance", Json::Object{}}};
    if (!analysis.incident) {
        evidence["shapes"] = shapes_json(analysis);
        return evidence;
    }
    const Incident& incident = *analysis.incident;
    Json::Object ledgers;
    Json::Object provenance;
    for (Field& field : ledger_fields(incident)) {
        provenance["ledgers." + std::string(field.name)] = name(field.provenance);
        ledgers[std::string(field.name)] = std::move(field.value);
    }
    provenance["failure.request_bytes"] = name(incident.evidence.request.provenance);
    provenance["failure.segment_request_bytes"] = name(incident.evidence.segment_request.provenance);
    Json::Object hypotheses;
    for (const Hypothesis one : kHypotheses) {
        hypotheses[std::string(name(one))] = hypothesis_json(incident, one);
    }
    evidence["failure"] = failure_json(incident);
    evidence["ledgers"] = std::move(ledgers);
    evidence["provenance"] = std::move(provenance);
    evidence["hypotheses"] = std::move(hypotheses);
    evidence["extents"] = extents_json(incident.scene);
    evidence["sites"] = sites_json(incident.scene);
    evidence["libraries"] = libraries_json(incident.scene);
    evidence["boundaries"] = name(incident.evidence.growth.basis);
    return evidence;
}

Json::Object verdict_json(const Analysis& analysis) {
    Json::Object verdict{{"primary", {}},
                         {"contributing", Json::Array{}},
                         {"rejected", Json::Array{}},
                         {"undecidable", Json::Array{}},
                         {"qualifiers", Json::Array{}}};
    if (!analysis.incident) return verdict;
    const Verdict& decided = analysis.incident->verdict;
    const auto with_status = [&](Status status) {
        std::vector<std::string_view> names;
        for (const Hypothesis one : kHypotheses) {
            if (decided.of(one).status == status) names.push_back(name(one));
        }
        std::ranges::sort(names);
        return words(names);
    };
    if (const auto primary = decided.primary()) verdict["primary"] = name(*primary);
    for (const Status status : {Status::contributing, Status::rejected, Status::undecidable}) {
        verdict[std::string(name(status))] = with_status(status);
    }
    verdict["qualifiers"] = words(decided.qualifiers.names());
    return verdict;
}

}  // namespace memsnap
