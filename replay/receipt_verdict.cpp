// SPDX-License-Identifier: Apache-2.0
//
// The verdict as JSON; its lists are sorted by name.
#include "receipt_verdict.h"

#include <algorithm>

#include "advice.h"
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

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json input_json(const Input& input) {
    Json::Object object{{"value", exact(input.value)}, {"provenance", name(input.value.provenance)}};
    if (input.value.known() && !input.value.exact()) {
        object["low"] = input.value.low;
        object["high"] = input.value.high;
    }
    return object;
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

Json numbers_json(const std::optional<Numbers>& numbers) {
    if (!numbers) return {};
    return Json::Object{{"available_bytes", numbers->available},
                        {"need_bytes", numbers->need},
                        {"margin_bytes", numbers->margin},
                        {"threshold_bytes", numbers->threshold},
                        {"deficit_bytes", numbers->deficit},
                        {"retained_bytes", numbers->retained},
                        {"retained_upper_bytes", numbers->retained_high},
                        {"removable_outside_bytes", numbers->removable},
                        {"removable_outside_upper_bytes", numbers->removable_high},
                        {"contribution_floor_bytes", numbers->contribution_floor}};
}

// Of the primary, else of the qualifier that is the answer.
void add_advice(const Incident& incident, Json::Object& verdict) {
    std::string_view fix, proof;
    if (const auto primary = incident.verdict.primary()) {
        const Explanation& explanation = incident.explanations[static_cast<unsigned>(*primary)];
        fix = explanation.fix;
        proof = explanation.proof;
    } else if (incident.verdict.answered) {
        const Advice advice = advise_answer(incident.verdict);
        fix = advice.fix;
        proof = advice.proof;
    }
    verdict["fix"] = text_or_null(fix);
    verdict["proof"] = text_or_null(proof);
}

std::vector<std::string_view> with_status(const Verdict& verdict, Status status) {
    std::vector<std::string_view> names;
    for (const Hypothesis one : kHypotheses) {
        if (verdict.of(one).status == status) names.push_back(name(one));
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

Json::Object verdict_json(const Analysis& analysis) {
    Json::Object verdict{{"primary", {}},
                         {"contributing", Json::Array{}},
                         {"rejected", Json::Array{}},
                         {"undecidable", Json::Array{}},
                         {"qualifiers", Json::Array{}},
                         {"exit_status", exit_status(analysis)},
                         {"fix", {}},
                         {"proof", {}},
                         {"numbers", {}},
                         {"hypotheses", {}}};
    if (!analysis.incident) {
        if (analysis.without_evidence()) verdict["undecidable"] = words(with_status({}, Status::undecidable));
        return verdict;
    }
    const Incident& incident = *analysis.incident;
    if (const auto primary = incident.verdict.primary()) verdict["primary"] = name(*primary);
    for (const Status status : {Status::contributing, Status::rejected, Status::undecidable}) {
        verdict[std::string(name(status))] = words(with_status(incident.verdict, status));
    }
    verdict["qualifiers"] = words(incident.verdict.qualifiers.names());
    verdict["numbers"] = numbers_json(incident.verdict.numbers);
    add_advice(incident, verdict);
    Json::Object hypotheses;
    for (const Hypothesis one : kHypotheses)
        hypotheses[std::string(name(one))] = hypothesis_json(incident, one);
    verdict["hypotheses"] = std::move(hypotheses);
    return verdict;
}

}  // namespace memsnap
