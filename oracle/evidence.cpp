// SPDX-License-Identifier: Apache-2.0
//
// The evidence: failures, ledgers, outside bytes, growth, provenance. Rule: `null` is "not known", never 0.
#include "case.h"

namespace oracle {
namespace {

std::string call_of(const Event& event) {
    if (event.kind == kBlockOom) return "none";
    return std::string(call_name(event.call).value_or("none"));
}

std::string_view device_call_name(DeviceCall call) {
    switch (call) {
        case DeviceCall::kFailed:
            return "failed";
        case DeviceCall::kNoneMade:
            return "none_made";
        case DeviceCall::kUnknown:
            break;
    }
    return "unknown";
}

Json failures_of(const Failures& failures) {
    Json::Array list;
    for (const auto& failed : failures.all) {
        list.emplace_back(Json::Object{{"ticket", failed.event.ticket},
                                       {"device", failed.event.device},
                                       {"allocator", victim_name(failed.victim)},
                                       {"request_bytes", failed.event.size},
                                       {"chain", u64{failed.chain}},
                                       {"followed", failed.followed}});
    }
    return list;
}

Json near_misses_of(const Failures& failures) {
    Json::Array list;
    for (const auto& miss : failures.near_misses) {
        list.emplace_back(Json::Object{{"kind", miss.probe ? "probe" : "recovered"},
                                       {"ticket", miss.first.ticket},
                                       {"device", miss.first.device},
                                       {"request_bytes", miss.first.size},
                                       {"failed_calls_count", miss.calls},
                                       {"operation", call_of(miss.first)}});
    }
    return list;
}

Json failure_of(const Incident& incident) {
    const auto& inputs = incident.inputs;
    u64 steps = steps_ended(incident.scene.recording, incident.scene.lives, inputs.ticket);
    return Json::Object{
        {"device", inputs.device},
        {"allocator", victim_name(inputs.victim)},
        {"request_bytes", inputs.victim == Victim::kForeign ? Json() : Json(inputs.request_bytes)},
        {"segment_request_bytes", inputs.segment_request_bytes},
        {"device_call", device_call_name(inputs.device_call)},
        {"operation", call_of(incident.failed.event)},
        {"ticket", inputs.ticket},
        {"steps_ended_count", steps},
        {"free_observed_at_failure", inputs.free_observed_at_failure}};
}

Json survivors_of(const Growth& growth, Dictionary& dictionary) {
    std::vector<std::pair<u64, const Survivors*>> rows;
    for (const auto& [site, survivors] : growth.survivors)
        rows.emplace_back(dictionary.sites.of(site), &survivors);
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::tuple(-a.second->bytes, a.first) < std::tuple(-b.second->bytes, b.first);
    });
    Json::Array list;
    for (const auto& [ordinal, survivors] : rows) {
        u64 steps = survivors->steps.size();
        list.emplace_back(Json::Object{{"site", ordinal},
                                       {"bytes", survivors->bytes},
                                       {"block_count", survivors->block_count},
                                       {"step_count", steps},
                                       {"clean_step_count", growth.judged_steps - steps},
                                       {"bytes_per_step", survivors->bytes / Int{steps}},
                                       {"oldest_ticket", survivors->oldest->birth},
                                       {"oldest_step", survivors->oldest->step.value_or(0)},
                                       {"least_block_bytes", survivors->least_bytes},
                                       {"greatest_block_bytes", survivors->greatest_bytes},
                                       {"live_bytes", survivors->live_bytes}});
    }
    return list;
}

Json growth_document(const Growth& growth, Dictionary& dictionary) {
    Json::Array rows;
    for (const auto& point : growth.points.list)
        rows.emplace_back(
            Json::Array{point.ticket, point.active_bytes, point.reserved_bytes, point.device_free_bytes});
    return Json::Object{
        {"basis", basis_name(growth.points.basis)},
        {"family", family_name(growth.points.family)},
        {"boundary_count", u64{growth.points.list.size()}},
        {"growing_pairs_count", u64{growth.growing_pairs}},
        {"retained_bytes", growth.retained_bytes},
        {"retained_is_bound", growth.retained_is_bound},
        {"unknown_birth_bytes", growth.unknown_birth_bytes},
        {"births_known_from_ticket", growth.births_known_from},
        {"kept_since_failure_bytes", growth.kept_since_failure_bytes},
        {"request_repeated", growth.request_repeated},
        {"survivors", survivors_of(growth, dictionary)},
        {"points", Json::Object{{"columns", Json::Array{"ticket", "active_bytes", "reserved_bytes",
                                                        "device_free_bytes"}},
                                {"rows", std::move(rows)}}}};
}

}  // namespace

std::string_view victim_name(Victim victim) {
    switch (victim) {
        case Victim::kUncached:
            return "pytorch_uncached";
        case Victim::kForeign:
            return "foreign";
        case Victim::kPytorch:
            break;
    }
    return "pytorch";
}

std::string_view family_name(Family family) {
    switch (family) {
        case Family::kStep:
            return "step";
        case Family::kOptimizer:
            return "optimizer";
        case Family::kRange:
            return "range";
        case Family::kModule:
            return "module";
        case Family::kNoFamily:
            break;
    }
    return "none";
}

std::string_view basis_name(Basis basis) {
    switch (basis) {
        case Basis::kMarked:
            return "marked";
        case Basis::kCertified:
            return "certified";
        case Basis::kUncertified:
            return "uncertified";
        case Basis::kLapped:
            return "lapped";
        case Basis::kTooFew:
            break;
    }
    return "too_few";
}

void add_ledgers(const Incident& incident, Json::Object& evidence) {
    const auto& in = incident.inputs;
    const auto& numbers = incident.decision.numbers;
    std::optional<Int> outside, margin, active, slack, threshold;
    if (numbers) {
        active = in.active_bytes();
        slack = in.slack_bytes();
        if (in.total_bytes) threshold = numbers->threshold;
        if (in.device_free_bytes) margin = numbers->margin;
        if (in.total_bytes && in.device_free_bytes) outside = numbers->outside;
    }
    struct Field {
        const char* name;
        std::optional<Int> value;
        bool observed;
    };
    const std::array<Field, 21> ledgers{{
        {"total_bytes", in.total_bytes, true},
        {"device_free_bytes", in.device_free_bytes, true},
        {"reserved_bytes", in.reserved_bytes, in.totals_observed},
        {"allocated_bytes", in.allocated_bytes, in.totals_observed},
        {"deferred_bytes", in.deferred_bytes, true},
        {"cap_bytes", in.cap_bytes, true},
        {"active_bytes", active, false},
        {"slack_bytes", slack, false},
        {"outside_bytes", outside, false},
        {"margin_bytes", margin, false},
        {"threshold_bytes", threshold, false},
        {"largest_free_extent_bytes", in.largest_bytes, false},
        {"largest_compatible_extent_bytes", in.largest_compatible_bytes, false},
        {"reusable_free_bytes", in.reusable_bytes, false},
        {"fragmented_free_bytes", in.fragmented_bytes, false},
        {"incompatible_free_bytes", in.incompatible_bytes, false},
        {"free_extent_bytes", in.free_extent_bytes(), false},
        {"remappable_bytes", in.remappable_bytes, false},
        {"releasable_bytes", in.releasable_bytes, false},
        {"unseen_segment_bytes", in.unseen_bytes, false},
        {"uncertainty_bytes", in.uncertainty_bytes, false},
    }};
    const std::array<Field, 6> outsides{{
        {"others_bytes", in.others_bytes, true},
        {"named_bytes", in.named_bytes, true},
        {"named_growth_bytes", in.named_growth_bytes, false},
        {"baseline_outside_bytes", in.baseline_outside_bytes, true},
        {"baseline_unattributed_bytes", in.baseline_unattributed_bytes, false},
        {"earlier_outside_bytes", in.earlier_outside_bytes, true},
    }};
    Json::Object provenance, ledger_values, outside_values;
    auto add = [&](const std::string& group, Json::Object& values, const Field& field) {
        values.emplace(field.name, field.value);
        provenance.emplace(group + '.' + field.name, !field.value     ? "unknown"
                                                     : field.observed ? "observed"
                                                                      : "derived");
    };
    for (const auto& field : ledgers)
        add("ledgers", ledger_values, field);
    for (const auto& field : outsides)
        add("outside", outside_values, field);
    outside_values.emplace("baseline_ticket", in.baseline_ticket);
    outside_values.emplace("other_process_count", in.other_processes);
    outside_values.emplace("holder_shares_job", in.holder_shares_job);
    provenance.emplace("failure.request_bytes", in.victim == Victim::kForeign ? "unknown" : "observed");
    provenance.emplace("failure.segment_request_bytes", in.segment_request_observed ? "observed" : "derived");
    evidence["ledgers"] = std::move(ledger_values);
    evidence["outside"] = std::move(outside_values);
    evidence["provenance"] = std::move(provenance);
}

Json evidence_of(const Case& c, Dictionary& dictionary) {
    Json::Object evidence{
        {"failures", failures_of(c.failures)},
        {"near_misses", near_misses_of(c.failures)},
        {"lost_failure_count", c.failures.lost_count},
        {"provenance", Json::Object{}},
        {"shapes", Json()},
    };
    for (const char* name :
         {"failure", "ledgers", "outside", "growth", "extents", "sites", "categories", "libraries", "peak",
          "lifetimes", "reconciliation", "recent", "site_growth", "collections", "dimension_effects"})
        evidence.emplace(name, Json());
    add_requests(c, evidence);
    if (!c.incident) {
        evidence["shapes"] = shapes_of(c, c.only_device);
        add_peak_sites(c, dictionary, evidence);
        add_holders(c, dictionary, evidence);
        return evidence;
    }
    const auto& incident = *c.incident;
    evidence["failure"] = failure_of(incident);
    add_ledgers(incident, evidence);
    add_history(incident, evidence);
    // Ordinals follow the order of these.
    add_blocks(incident, dictionary, evidence);
    evidence["growth"] = growth_document(incident.growth, dictionary);
    add_peak_sites(c, dictionary, evidence);
    add_recent(incident, dictionary, evidence);
    add_site_growth(incident, dictionary, evidence);
    add_collections(incident, dictionary, evidence);
    add_dimension_effects(incident, dictionary, evidence);
    add_holders(c, dictionary, evidence);
    return evidence;
}

}  // namespace oracle
