// SPDX-License-Identifier: Apache-2.0
//
// Members in the order of docs/triage.md; the verdict is a receipt's.
#include "triage_json.h"

#include <utility>

#include "digest.h"
#include "json.h"
#include "names.h"
#include "receipt_verdict.h"

namespace memsnap {
namespace {

Json interval(const Measure& measure) {
    return measure.known() ? Json(Json::Array{measure.low, measure.high}) : Json();
}

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json evidence_json(const Evidence& evidence) {
    return Json::Object{{"allocator", name(evidence.allocator)},
                        {"device_call", name(evidence.device_call)},
                        {"free_observed_at_failure", evidence.free_observed_at_failure},
                        {"expandable_segments", evidence.expandable_segments ? Json(true) : Json()},
                        {"request_bytes", interval(evidence.request)},
                        {"segment_request_bytes", interval(evidence.segment_request)},
                        {"total_bytes", interval(evidence.total)},
                        {"device_free_bytes", interval(evidence.device_free)},
                        {"reserved_bytes", interval(evidence.reserved)},
                        {"allocated_bytes", interval(evidence.allocated)},
                        {"deferred_bytes", interval(evidence.deferred)},
                        {"cap_bytes", interval(evidence.cap)},
                        {"others_bytes", interval(evidence.outside.others)},
                        {"other_process_count", evidence.outside.other_process_count}};
}

Json incident_json(const TriagedIncident& one) {
    Json::Array missing;
    for (const Missing what : one.missing)
        missing.emplace_back(name(what));
    const LogMessage& message = one.message;
    return Json::Object{{"order", one.order},
                        {"process", one.process},
                        {"rank", message.place.label.rank},
                        {"device", message.device},
                        {"format", name(message.format)},
                        {"backend", name(message.backend)},
                        {"line", message.place.line},
                        {"offset_bytes", message.place.offset_bytes},
                        {"seen_count", message.seen_count},
                        {"complete", message.complete},
                        {"statistics_line", one.statistics_line},
                        {"other_statistics_line", one.other_statistics_line},
                        {"grew", one.grew},
                        {"class", one.kind},
                        {"evidence", evidence_json(one.incident().evidence)},
                        {"verdict", verdict_json(one.analysis)},
                        {"missing", std::move(missing)},
                        {"next", text_or_null(one.next)}};
}

}  // namespace

std::string triage_json(const Triage& triage) {
    Json::Array incidents, refusals, recordings, unrecognised;
    for (const TriagedIncident& one : triage.incidents)
        incidents.push_back(incident_json(one));
    for (const LogRefusal& one : triage.refusals) {
        refusals.push_back(Json::Object{{"line", one.place.line},
                                        {"rank", one.place.label.rank},
                                        {"device", one.device},
                                        {"request_bytes", interval(one.asked)},
                                        {"device_free_bytes", interval(one.device_free)},
                                        {"total_bytes", interval(one.total)}});
    }
    for (const LogRecording& one : triage.log.recordings)
        recordings.push_back(Json::Object{{"line", one.place.line}, {"rank", one.place.label.rank}});
    for (const LogUnrecognised& one : triage.log.unrecognised) {
        unrecognised.push_back(Json::Object{{"kind", name(one.kind)},
                                            {"line", one.place.line},
                                            {"offset_bytes", one.place.offset_bytes},
                                            {"rank", one.place.label.rank},
                                            {"seen_count", one.seen_count}});
    }
    Json::Object document{{"schema", "memsnap.triage.v1"},
                          {"bytes_read", triage.log.bytes_read},
                          {"line_count", triage.log.line_count},
                          {"process_count", triage.process_count},
                          {"incidents", std::move(incidents)},
                          {"refusals", std::move(refusals)},
                          {"recordings", std::move(recordings)},
                          {"unrecognised", std::move(unrecognised)},
                          {"omitted_count", triage.log.omitted_count},
                          {"exit_status", triage.exit_status()}};
    const std::string digest = sha256_hex(Json(document).text());
    document["digest"] = Json::Object{{"algorithm", "sha256"}, {"triage", digest}};
    return Json(std::move(document)).text();
}

}  // namespace memsnap
