// SPDX-License-Identifier: Apache-2.0
//
// The verdict as a document. Rule: everything in it follows from the question and its decision.
#include "advice.h"
#include "case.h"
#include "inequality.h"

namespace oracle {
namespace {

std::string_view standing_name(Standing standing) {
    switch (standing) {
        case Standing::kPrimary:
            return "primary";
        case Standing::kContributing:
            return "contributing";
        case Standing::kRejected:
            return "rejected";
        case Standing::kUndecidable:
            break;
    }
    return "undecidable";
}

Json words(const Words& qualifiers) {
    Json::Array list;
    for (const auto& word : qualifiers)
        list.emplace_back(word);
    return list;
}

Json input(const std::optional<Int>& value, bool observed) {
    return Json::Object{{"value", value},
                        {"provenance", !value     ? "unknown"
                                       : observed ? "observed"
                                                  : "derived"}};
}

Json inputs_of(Hypothesis hypothesis, const Incident& incident) {
    const auto& in = incident.inputs;
    const auto& growth = incident.growth;
    std::optional<Int> request = in.victim == Victim::kForeign ? std::nullopt : in.request_bytes;
    Json::Object inputs{
        {"total_bytes", input(in.total_bytes, true)},
        {"device_free_bytes", input(in.device_free_bytes, true)},
        {"reserved_bytes", input(in.reserved_bytes, in.totals_observed)},
        {"allocated_bytes", input(in.allocated_bytes, in.totals_observed)},
        {"deferred_bytes", input(in.deferred_bytes, true)},
        {"cap_bytes", input(in.cap_bytes, true)},
        {"request_bytes", input(request, true)},
        {"segment_request_bytes", input(in.segment_request_bytes, in.segment_request_observed)},
    };
    auto add = [&](const char* name, std::optional<Int> value, bool observed) {
        inputs.emplace(name, input(value, observed));
    };
    switch (hypothesis) {
        case kRetention:
            add("retained_bytes", growth.retained_bytes, false);
            if (Int low = incident.question.retained_low(), high = incident.question.retained_high();
                low < high)
                inputs["retained_bytes"] =
                    Json::Object{{"value", Json()}, {"provenance", "derived"}, {"low", low}, {"high", high}};
            add("boundary_count", Int(growth.points.list.size()), false);
            add("growing_pairs_count", Int(growth.growing_pairs), false);
            add("kept_since_failure_bytes", growth.kept_since_failure_bytes, false);
            break;
        case kFragmentation:
            add("largest_compatible_extent_bytes", in.largest_compatible_bytes, false);
            add("largest_free_extent_bytes", in.largest_bytes, false);
            add("reusable_free_bytes", in.reusable_bytes, false);
            add("fragmented_free_bytes", in.fragmented_bytes, false);
            add("incompatible_free_bytes", in.incompatible_bytes, false);
            add("remappable_bytes", in.remappable_bytes, false);
            break;
        case kExternal:
            add("other_processes_bytes", in.others_bytes, true);
            add("named_library_bytes", in.named_bytes, true);
            add("named_library_growth_bytes", in.named_growth_bytes, false);
            add("baseline_outside_bytes", in.baseline_outside_bytes, true);
            add("baseline_unattributed_bytes", in.baseline_unattributed_bytes, false);
            break;
        case kLiveSet:
        case kHypotheses:
            break;
    }
    return inputs;
}

Json numbers_document(const Numbers& n) {
    return Json::Object{{"available_bytes", n.available},
                        {"need_bytes", n.need},
                        {"margin_bytes", n.margin},
                        {"threshold_bytes", n.threshold},
                        {"deficit_bytes", n.deficit},
                        {"retained_bytes", n.retained},
                        {"retained_upper_bytes", n.retained_upper},
                        {"removable_outside_bytes", n.removable},
                        {"removable_outside_upper_bytes", n.removable_upper},
                        {"contribution_floor_bytes", n.floor}};
}

Json hypothesis_document(Hypothesis hypothesis, const Incident& incident) {
    const auto& decision = incident.decision;
    const auto& opinion = decision.opinions[hypothesis];
    const auto& margin = decision.margins[hypothesis];
    auto advice = advice_for(hypothesis, incident.question, decision);
    auto probe = probe_for(hypothesis, incident.question, decision);
    Json::Object document{{"status", standing_name(opinion.standing)},
                          {"margin_bytes", margin ? Json(margin->low) : Json()},
                          {"qualifiers", words(opinion.qualifiers)},
                          {"inequality", inequality_of(hypothesis, incident.question, decision)},
                          {"inputs", inputs_of(hypothesis, incident)},
                          {"fix", advice ? Json(advice->fix) : Json()},
                          {"proof", advice ? Json(advice->proof) : Json()},
                          {"probe", probe ? Json(*probe) : Json()}};
    if (margin && margin->high != margin->low) document.emplace("margin_high_bytes", margin->high);
    return document;
}

Json::Object empty_verdict() {
    return {{"primary", Json()},
            {"contributing", Json::Array{}},
            {"rejected", Json::Array{}},
            {"undecidable", Json::Array{}},
            {"qualifiers", Json::Array{}},
            {"exit_status", 0},
            {"fix", Json()},
            {"proof", Json()},
            {"numbers", Json()},
            {"hypotheses", Json()}};
}

}  // namespace

Json verdict_of(const Case& c) {
    auto verdict = empty_verdict();
    std::array<std::string_view, kHypotheses> sorted = kHypothesisNames;
    std::sort(sorted.begin(), sorted.end());
    if (!c.incident) {
        if (!c.without_evidence) return verdict;
        Json::Array all;
        for (auto name : sorted)
            all.emplace_back(name);
        verdict["undecidable"] = std::move(all);
        verdict["exit_status"] = 11;
        return verdict;
    }
    const auto& incident = *c.incident;
    const auto& decision = incident.decision;
    Words qualifiers = decision.qualifiers;
    qualifiers.insert(incident.followed ? "survived" : "fatal");
    if (c.file.header.counters[kBlindCalls] != 0) qualifiers.insert("blind");
    if (incident.inputs.incomplete) qualifiers.insert("incomplete");

    std::array<Json::Array, 4> lists;
    Json::Object hypotheses;
    for (auto name : sorted) {
        auto index = static_cast<std::size_t>(
            std::find(kHypothesisNames.begin(), kHypothesisNames.end(), name) - kHypothesisNames.begin());
        auto hypothesis = static_cast<Hypothesis>(index);
        hypotheses.emplace(name, hypothesis_document(hypothesis, incident));
        lists[static_cast<std::size_t>(decision.opinions[index].standing)].emplace_back(name);
    }
    auto primary = decision.primary();
    auto advice =
        primary ? advice_for(*primary, incident.question, decision) : advice_for_answers(decision.answers);
    verdict["primary"] = primary ? Json(kHypothesisNames[*primary]) : Json();
    verdict["contributing"] = lists[static_cast<std::size_t>(Standing::kContributing)];
    verdict["rejected"] = lists[static_cast<std::size_t>(Standing::kRejected)];
    verdict["undecidable"] = lists[static_cast<std::size_t>(Standing::kUndecidable)];
    verdict["qualifiers"] = words(qualifiers);
    verdict["exit_status"] = primary || !decision.answers.empty() ? 10 : 11;
    verdict["fix"] = advice ? Json(advice->fix) : Json();
    verdict["proof"] = advice ? Json(advice->proof) : Json();
    verdict["numbers"] = decision.numbers ? numbers_document(*decision.numbers) : Json();
    verdict["hypotheses"] = std::move(hypotheses);
    return verdict;
}

}  // namespace oracle
