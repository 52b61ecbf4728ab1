// SPDX-License-Identifier: Apache-2.0
//
// Evidence as JSON: the failure, the failures around it, and each number with how it came to be known.
#include "receipt_evidence.h"

#include "names.h"
#include "receipt_holders.h"
#include "receipt_scene.h"
#include "receipt_trail.h"

namespace memsnap {
namespace {

Json exact(const Measure& measure) {
    return measure.exact() ? Json(measure.low) : Json();
}

Json failure_json(const Incident& incident) {
    const Evidence& evidence = incident.evidence;
    const Event& event = incident.failure.event;
    return Json::Object{{"device", evidence.device},
                        {"allocator", name(evidence.allocator)},
                        {"request_bytes", exact(evidence.request)},
                        {"segment_request_bytes", exact(evidence.segment_request)},
                        {"device_call", name(evidence.device_call)},
                        {"operation", name(event.kind == Kind::block_oom ? Op::none : event.op)},
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
    // Numbers are those of the low ends: where the card or device-free is only bounded, what follows from it
    // is not a number.
    const bool free_known = settled && evidence.device_free.exact();
    const bool card_known = settled && evidence.total.exact();
    const Wide free_extents = extents.compatible() + extents.incompatible;
    return {field("total_bytes", evidence.total),
            field("device_free_bytes", evidence.device_free),
            field("reserved_bytes", evidence.reserved),
            field("allocated_bytes", evidence.allocated),
            field("deferred_bytes", evidence.deferred),
            field("cap_bytes", evidence.cap),
            derived("active_bytes", settled, numbers.active),
            derived("slack_bytes", settled, numbers.slack),
            derived("outside_bytes", free_known && card_known, numbers.outside),
            derived("margin_bytes", free_known, numbers.margin),
            derived("threshold_bytes", card_known, numbers.threshold),
            derived("largest_free_extent_bytes", extents.known, extents.largest_not_excluded),
            derived("largest_compatible_extent_bytes", extents.known, extents.largest_compatible),
            derived("reusable_free_bytes", extents.known, extents.reusable),
            derived("fragmented_free_bytes", extents.known, extents.fragmented),
            derived("incompatible_free_bytes", extents.known, extents.incompatible),
            derived("free_extent_bytes", extents.known, free_extents),
            derived("remappable_bytes", extents.known, extents.remappable),
            field("releasable_bytes", evidence.releasable),
            derived("unseen_segment_bytes", true, evidence.unseen_segment_bytes),
            derived("uncertainty_bytes", true, evidence.uncertainty)};
}

std::vector<Field> outside_fields(const Outside& outside) {
    return {field("others_bytes", outside.others),
            field("named_bytes", Measure::observed(outside.named_bytes)),
            field("named_growth_bytes", Measure::derived(outside.named_growth)),
            field("baseline_outside_bytes", outside.baseline_outside),
            field("baseline_unattributed_bytes", outside.baseline_unattributed),
            field("earlier_outside_bytes", outside.earlier_outside)};
}

// Values under their names, and how each came to be known under `group` and its name.
Json::Object take_fields(std::string_view group, std::vector<Field> fields, Json::Object& provenance) {
    Json::Object values;
    for (Field& field : fields) {
        provenance[std::string(group) + '.' + std::string(field.name)] = name(field.provenance);
        values[std::string(field.name)] = std::move(field.value);
    }
    return values;
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

void add_incident(const Capture& capture, const Incident& incident, const Dictionary& dictionary,
                  Json::Object& evidence) {
    Json::Object provenance;
    evidence["failure"] = failure_json(incident);
    evidence["ledgers"] = take_fields("ledgers", ledger_fields(incident), provenance);
    Json::Object outside = take_fields("outside", outside_fields(incident.evidence.outside), provenance);
    outside["baseline_ticket"] = incident.evidence.outside.baseline_ticket;
    outside["other_process_count"] = incident.evidence.outside.other_process_count;
    outside["holder_shares_job"] = incident.evidence.outside.holder_shares_job;
    evidence["outside"] = std::move(outside);
    provenance["failure.request_bytes"] = name(incident.evidence.request.provenance);
    provenance["failure.segment_request_bytes"] = name(incident.evidence.segment_request.provenance);
    evidence["provenance"] = std::move(provenance);
    evidence["growth"] = growth_json(incident, dictionary);
    evidence["extents"] = extents_json(incident.scene);
    evidence["sites"] = sites_json(incident.scene, dictionary);
    evidence["categories"] = categories_json(incident.scene);
    evidence["recent"] = recent_json(incident.trail, dictionary);
    evidence["site_growth"] = site_growth_json(incident.trail, dictionary);
    evidence["collections"] = collections_json(incident.trail, dictionary);
    evidence["dimension_effects"] = dimension_effects_json(incident.trail, dictionary);
    evidence["libraries"] = libraries_json(capture, incident.scene, dictionary);
    evidence["peak"] = peak_json(incident.history.peak);
    evidence["lifetimes"] = lifetimes_json(incident.history.lifetimes);
    evidence["reconciliation"] = reconciliation_json(incident.history.reconciliation);
}

}  // namespace

Json::Object evidence_json(const Capture& capture, const Analysis& analysis, const Dictionary& dictionary) {
    Json::Object evidence{{"failures", failures_json(analysis.failures)},
                          {"near_misses", near_misses_json(analysis.failures)},
                          {"lost_failure_count", analysis.lost_failure_count},
                          {"failure", {}},
                          {"ledgers", {}},
                          {"outside", {}},
                          {"growth", {}},
                          {"extents", {}},
                          {"sites", {}},
                          {"categories", {}},
                          {"peak_sites", peak_sites_json(analysis.peak_sites, dictionary)},
                          {"recent", {}},
                          {"site_growth", {}},
                          {"collections", {}},
                          {"dimension_effects", {}},
                          {"libraries", {}},
                          {"requests", requests_json(analysis.requests)},
                          {"peak", {}},
                          {"lifetimes", {}},
                          {"reconciliation", {}},
                          {"holders", holders_json(analysis.holders, dictionary)},
                          {"shapes", {}},
                          {"provenance", Json::Object{}}};
    if (analysis.incident) {
        add_incident(capture, *analysis.incident, dictionary, evidence);
    } else {
        evidence["shapes"] = shapes_json(analysis);
    }
    return evidence;
}

}  // namespace memsnap
