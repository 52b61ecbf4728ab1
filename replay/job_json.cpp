// SPDX-License-Identifier: Apache-2.0
//
// The members, the digest, and the check of what was written.
#include "job_json.h"

#include <algorithm>

#include "digest.h"
#include "json.h"
#include "names.h"
#include "receipt_check.h"
#include "receipt_text.h"

namespace memsnap {
namespace {

uint64_t ordinal(size_t process) {
    return process + 1;
}

Json word_or_null(std::string_view word) {
    return word.empty() ? Json() : Json(word);
}

Json time_json(std::optional<uint64_t> time_ns, std::optional<uint64_t> base_ns) {
    if (!time_ns || !base_ns) return {};
    return Json(Wide{*time_ns} - Wide{*base_ns});
}

// Times are told against the first failure; without one, against the first sign of life.
std::optional<uint64_t> base_of(const Job& job) {
    if (job.instant_ns) return job.instant_ns;
    std::optional<uint64_t> first_ns;
    for (const JobProcess& process : job.processes) {
        if (process.first_seen_ns) first_ns = std::min(first_ns.value_or(UINT64_MAX), *process.first_seen_ns);
    }
    return first_ns;
}

Json verdict_json(const JobProcess& process) {
    if (process.error) return {};
    Json::Array qualifiers;
    std::string_view primary;
    if (process.failure) {
        qualifiers.assign(process.failure->qualifiers.begin(), process.failure->qualifiers.end());
        primary = process.failure->primary;
    }
    return Json::Object{{"primary", word_or_null(primary)},
                        {"qualifiers", std::move(qualifiers)},
                        {"exit_status", process.verdict_exit_status}};
}

Json held_json(const std::vector<HeldBy>& held_by) {
    Json::Array list;
    for (const HeldBy& one : held_by)
        list.push_back(Json::Object{{"process", ordinal(one.process)}, {"bytes", one.bytes}});
    return list;
}

Json levels_json(const JobLevels& levels) {
    return Json::Object{{"active_bytes", levels.of(JobLedger::active)},
                        {"reserved_bytes", levels.of(JobLedger::reserved)},
                        {"outside_bytes", levels.of(JobLedger::outside)},
                        {"device_used_bytes", levels.of(JobLedger::device_used)},
                        {"observation_age_ns", levels.observation_age_ns}};
}

Json peaks_json(const JobPeaks& peaks) {
    return Json::Object{{"active_bytes", peaks.allocated_bytes},
                        {"reserved_bytes", peaks.reserved_bytes},
                        {"outside_bytes", peaks.outside_bytes},
                        {"device_used_bytes", peaks.device_used_bytes}};
}

Json process_json(const Job& job, size_t index, std::optional<uint64_t> base_ns) {
    const JobProcess& process = job.processes[index];
    const JobPart& part = job.roles.parts[index];
    const HeaderFacts& header = process.header;
    const bool exited = header.exit_ticket.has_value();
    std::optional<uint64_t> failed_ns;
    if (process.failure) failed_ns = process.failure->time_ns;
    return Json::Object{{"process", ordinal(index)},
                        {"rank", header.rank},
                        {"local_rank", header.local_rank},
                        {"host", job.hosts[index]},
                        {"role", name(part.role)},
                        {"order", name(part.order)},
                        {"incident", name(process.incident)},
                        {"verdict", verdict_json(process)},
                        {"device", process.device},
                        {"failed_ns", time_json(failed_ns, base_ns)},
                        {"first_seen_ns", time_json(process.first_seen_ns, base_ns)},
                        {"last_seen_ns", time_json(process.last_seen_ns, base_ns)},
                        {"exit_seen", exited},
                        {"exit_status", exited ? Json(header.exit_status) : Json()},
                        {"earlier_count", process.earlier_count},
                        {"held_by", held_json(part.held_by)},
                        {"levels", levels_json(job.levels[index])},
                        {"peaks", peaks_json(process.peaks)},
                        {"steps", Json::Object{{"family", name(process.steps.family)},
                                               {"point_count", process.steps.point_count},
                                               {"rise_bytes", process.steps.rise_bytes}}},
                        {"receipt", word_or_null(process.receipt_digest)}};
}

Json job_json(const Job& job) {
    Json::Array missing;
    for (const auto& [first, last] : job.missing)
        missing.push_back(Json::Object{{"first_rank", first}, {"last_rank", last}});
    return Json::Object{{"process_count", uint64_t{job.processes.size()}},
                        {"unread_count", uint64_t{job.unread.size()}},
                        {"host_count", job.host_count},
                        {"world_size", job.world_size},
                        {"rank_count", job.rank_count},
                        {"missing", std::move(missing)},
                        {"clocks_within_ns", job.clocks_within_ns}};
}

Json first_json(const JobRoles& roles) {
    if (!roles.first) return {};
    Json::Array rivals;
    for (const size_t rival : roles.rivals)
        rivals.emplace_back(ordinal(rival));
    return Json::Object{{"process", ordinal(*roles.first)},
                        {"told", roles.first_is_told},
                        {"rivals", std::move(rivals)},
                        {"clocks_compared", roles.clocks_compared}};
}

Json skew_json(const std::vector<JobSkew>& skews) {
    Json::Array list;
    for (const JobSkew& one : skews) {
        list.push_back(Json::Object{{"ledger", name(one.ledger)},
                                    {"known_count", one.known_count},
                                    {"least_bytes", one.least_bytes},
                                    {"least_process", ordinal(one.least_process)},
                                    {"median_bytes", one.median_bytes},
                                    {"most_bytes", one.most_bytes},
                                    {"most_process", ordinal(one.most_process)}});
    }
    return list;
}

std::string digest_of(const JsonValue& receipt) {
    return sha256_hex(canonical_text(receipt, {"digest", "times"}));
}

}  // namespace

std::string_view name(JobIncident incident) {
    constexpr std::string_view kNames[] = {"none", "survived", "fatal", "lost"};
    return kNames[static_cast<size_t>(incident)];
}

Result<std::string> write_job_receipt(const Job& job) {
    const auto base_ns = base_of(job);
    const Words removed = words(Vocabulary::removed_field);
    Json::Array processes;
    for (size_t index = 0; index < job.processes.size(); ++index)
        processes.push_back(process_json(job, index, base_ns));
    Json::Object receipt{{"schema", kJobSchema},
                         {"job", job_json(job)},
                         {"first", first_json(job.roles)},
                         {"instant", name(job.instant)},
                         {"processes", std::move(processes)},
                         {"skew", skew_json(job.skew)},
                         {"exit_status", exit_status(job)},
                         {"removed_fields", Json::Array(removed.begin(), removed.end())}};
    const std::string digest = sha256_hex(Json(receipt).text());
    receipt["times"] = Json::Object{{"instant_unix_ns", base_ns}};
    receipt["digest"] = Json::Object{{"algorithm", "sha256"}, {"job", digest}};
    std::string text = Json(std::move(receipt)).text();
    std::string problem = check_job_receipt(text);
    if (problem.empty()) return text;
    return failure({.code = ErrorCode::io,
                    .file = {},
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "job_self_check",
                    .detail = std::move(problem),
                    .way_out = "nothing was written; please report this"});
}

std::string check_job_receipt(std::string_view text) {
    rapidjson::Document document;
    if (std::string problem = parse_json(text, document); !problem.empty()) return problem;
    if (std::string problem = check_shape(document, job_shape()); !problem.empty()) return problem;
    if (canonical_text(document) != text) return "is not in canonical form";
    const std::string stated(text_of(*member(*member(document, "digest"), "job")));
    return stated == digest_of(document) ? std::string() : "digest.job: is not that of the job";
}

}  // namespace memsnap
