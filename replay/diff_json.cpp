// SPDX-License-Identifier: Apache-2.0
//
// The members, and their self-check.
#include "diff_json.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <optional>

#include "json.h"
#include "names.h"

namespace memsnap {
namespace {

using rapidjson::Value;

constexpr std::string_view kSchema = "memsnap.diff.v1";
constexpr std::string_view kNotMeasured = "not_measured";
constexpr std::string_view kSources[] = {"receipt", "ring"};
constexpr std::string_view kEndings[] = {"none", "survived", "fatal", "lost"};
constexpr std::string_view kConditions[] = {
    "request_granted",   "peak_fell",    "headroom_returned",    "smaller_than_card", "extent_reaches",
    "incompatible_fell", "outside_fell", "pairs_stopped_rising", "no_net_rise",       "hundredth_is_left",
    "got_as_far",        "same_free",    "fits_the_card"};
constexpr std::string_view kTerms[] = {"granted_after",
                                       "granted_needed",
                                       "peak_needed_before",
                                       "peak_active_after",
                                       "peak_needed_after",
                                       "deficit",
                                       "total",
                                       "outside_after",
                                       "target_headroom",
                                       "largest_request_after",
                                       "request",
                                       "zero",
                                       "largest_free_extent_after",
                                       "incompatible_free_before",
                                       "incompatible_free_after",
                                       "slack_after",
                                       "outside_before",
                                       "growing_pairs_after",
                                       "growing_pairs_needed",
                                       "active_rise_after",
                                       "rise_left",
                                       "rise_allowed",
                                       "steps_after",
                                       "steps_before",
                                       "device_free_before",
                                       "device_free_after",
                                       "total_before",
                                       "peak_reserved_after"};
constexpr std::string_view kSigns[] = {"+", "-", "=", "<", "<=", ">", ">="};

template <size_t N>
bool among(const std::string_view (&list)[N], std::string_view text) {
    return std::ranges::find(list, text) != std::end(list);
}

// ---- members

Json optional_word(std::string_view word) {
    return word.empty() ? Json() : Json(word);
}

Json side_json(const DiffSide& side) {
    return Json::Object{
        {"source", kSources[side.from_ring ? 1 : 0]},
        {"origin", side.origin},
        {"total_stated", side.total_stated},
        {"incident", kEndings[static_cast<size_t>(side.ending)]},
        {"primary", side.incident ? optional_word(side.incident->primary) : Json()},
        {"answer", side.incident ? optional_word(side.incident->answer) : Json()},
        {"digest", Json::Object{{"evidence", side.evidence_digest}, {"receipt", side.receipt_digest}}}};
}

Json cohort_json(const Cohort& cohort) {
    Json::Array differences;
    for (const CohortDifference& one : cohort.differences) {
        differences.push_back(Json::Object{
            {"field", one.field}, {"before", one.before}, {"after", one.after}, {"declared", one.declared}});
    }
    return Json::Object{{"comparable", cohort.comparable()},
                        {"equal_count", cohort.equal_count},
                        {"differences", std::move(differences)},
                        {"declared_unchanged",
                         Json::Array(cohort.declared_unchanged.begin(), cohort.declared_unchanged.end())},
                        {"unknown", Json::Array(cohort.unknown.begin(), cohort.unknown.end())}};
}

Json amount_json(const Amount& amount) {
    return Json::Object{{"value", amount.value},
                        {"provenance", name(amount.known() ? amount.provenance : Provenance::unknown)}};
}

Json rows_json(const std::vector<DiffRow>& rows) {
    Json::Object compared{{"correctness", kNotMeasured}};
    for (const DiffRow& row : rows) {
        compared[std::string(row.name)] = Json::Object{{"before", amount_json(row.before)},
                                                       {"after", amount_json(row.after)},
                                                       {"difference", row.difference()}};
    }
    return compared;
}

Json alternatives_json(const Contract& contract) {
    Json::Array alternatives;
    for (const auto& alternative : contract.alternatives) {
        Json::Array all;
        for (const Condition& condition : alternative) {
            all.push_back(Json::Object{
                {"condition", condition.name},
                {"status", name(condition.truth)},
                {"inequality", condition.clause ? Json(inequality(*condition.clause)) : Json()}});
        }
        alternatives.emplace_back(std::move(all));
    }
    return alternatives;
}

Json contract_json(const Diff& diff) {
    if (!diff.contract) return {};
    const Contract& contract = *diff.contract;
    const SideIncident& failed = *diff.before.incident;
    return Json::Object{{"cause", contract.cause},
                        {"proof", contract.proof},
                        {"result", name(contract.result)},
                        {"observed", alternatives_json(contract)},
                        {"model", Json::Object{{"margin_bytes", failed.margin.value},
                                               {"threshold_bytes", failed.threshold.value},
                                               {"deficit_bytes", failed.deficit.value}}}};
}

Json diagnosis_json(const Diff& diff) {
    if (diff.result != DiffResult::other_diagnosis) return {};
    return Json::Object{{"before", Json::canonical(diff.before.verdict)},
                        {"after", Json::canonical(diff.after.verdict)}};
}

// ---- self-check

bool all_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_integer(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return text.size() <= 40 && all_of(text, "0123456789");
}

// At most two dots: four numbers would be the address of a host.
bool is_version(std::string_view text) {
    return text.size() <= 16 && all_of(text, "0123456789.") && std::ranges::count(text, '.') <= 2;
}

bool is_own_inequality(std::string_view text) {
    while (!text.empty()) {
        const size_t space = std::min(text.find(' '), text.size());
        const std::string_view token = text.substr(0, space);
        if (!among(kTerms, token) && !among(kSigns, token) && !is_integer(token)) return false;
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return true;
}

bool is_result(std::string_view text) {
    for (size_t index = 0; index <= static_cast<size_t>(DiffResult::not_proven); ++index) {
        if (name(static_cast<DiffResult>(index)) == text) return true;
    }
    return false;
}

bool is_truth(std::string_view text) {
    return text == name(Truth::fails) || text == name(Truth::unknown) || text == name(Truth::holds);
}

bool is_proof(std::string_view text) {
    return text == name(Proof::refuted) || text == name(Proof::not_proven) || text == name(Proof::proven);
}

bool allowed(std::string_view path, std::string_view text) {
    const auto ends = [&](std::string_view tail) { return path.ends_with(tail); };
    if (ends("digest.evidence") || ends("digest.receipt")) {
        return text.size() == 64 && all_of(text, "0123456789abcdef");
    }
    if (path == "schema") return text == kSchema;
    if (path == "result") return is_result(text);
    if (ends(".source")) return among(kSources, text);
    if (ends(".origin")) return is_word(Vocabulary::origin, text);
    if (ends(".incident")) return among(kEndings, text);
    if (ends(".primary")) return is_word(Vocabulary::hypothesis, text);
    if (ends(".answer")) return is_word(Vocabulary::verdict_qualifier, text);
    if (ends(".cause")) {
        return is_word(Vocabulary::hypothesis, text) || is_word(Vocabulary::verdict_qualifier, text);
    }
    if (ends(".proof")) return is_word(Vocabulary::proof, text);
    if (path == "contract.result") return is_proof(text);
    if (ends(".condition")) return among(kConditions, text);
    if (ends(".status")) return is_truth(text);
    if (ends(".inequality")) return is_own_inequality(text);
    if (ends(".provenance")) return is_word(Vocabulary::provenance, text);
    if (path == "compared.correctness") return text == kNotMeasured;
    if (ends(".field") || ends("declared_unchanged[]") || ends("cohort.unknown[]"))
        return is_cohort_field(text);
    if (path.starts_with("cohort.differences[]") && is_version(text)) return true;
    if (path.starts_with("cohort.differences[]") && ends("[]")) return is_word(Vocabulary::phase_word, text);
    if (path.starts_with("cohort.differences[]")) {
        return is_word(Vocabulary::backend, text) || is_word(Vocabulary::family, text) || is_integer(text);
    }
    return is_integer(text) && text.size() >= 16;
}

class Checker {
  public:
    std::string run(std::string_view text) {
        rapidjson::Document document;
        document.Parse(text.data(), text.size());
        if (document.HasParseError()) return "not JSON";
        visit(document, "");
        return problem_;
    }

  private:
    void refuse(const std::string& path, std::string_view what) {
        if (problem_.empty()) problem_ = fmt::format("{}: {}", path, what);
    }

    void visit(const Value& value, const std::string& path) {
        // Two verdicts of receipts that were checked when they were read.
        if (path == "diagnosis") return;
        if (value.IsString()) {
            if (!allowed(path, {value.GetString(), value.GetStringLength()}))
                refuse(path, "a text that no vocabulary has");
        } else if (value.IsDouble()) {
            refuse(path, "a number that is no integer");
        } else if (value.IsArray()) {
            for (const Value& item : value.GetArray())
                visit(item, path + "[]");
        } else if (value.IsObject()) {
            for (const auto& member : value.GetObject()) {
                const std::string key(member.name.GetString(), member.name.GetStringLength());
                if (!all_of(key, "abcdefghijklmnopqrstuvwxyz_"))
                    return refuse(path, "a name that is not ours");
                visit(member.value, path.empty() ? key : path + '.' + key);
            }
        }
    }

    std::string problem_;
};

}  // namespace

Result<std::string> diff_json(const Diff& diff) {
    Json::Object members{{"schema", kSchema},
                         {"result", name(diff.result)},
                         {"exit_status", exit_status(diff)},
                         {"before", side_json(diff.before)},
                         {"after", side_json(diff.after)},
                         {"cohort", cohort_json(diff.cohort)},
                         {"compared", rows_json(diff.rows)},
                         {"contract", contract_json(diff)},
                         {"target_headroom_bytes", diff.target_headroom_bytes},
                         {"diagnosis", diagnosis_json(diff)}};
    std::string text = Json(std::move(members)).text();
    std::string problem = check_diff(text);
    if (problem.empty()) return text;
    return failure({.code = ErrorCode::io,
                    .file = "",
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "diff_self_check",
                    .detail = std::move(problem),
                    .way_out = "nothing was written; please report this"});
}

std::string check_diff(std::string_view text) {
    return Checker().run(text);
}

}  // namespace memsnap
