// SPDX-License-Identifier: Apache-2.0
//
// Two texts, field by field.
#include "job_check.h"

#include <fmt/format.h>

#include "job_json.h"
#include "receipt_compare.h"
#include "receipt_file.h"
#include "receipt_text.h"

namespace memsnap {
namespace {

Error no_job_receipt(const std::string& path, std::string detail) {
    return file_error(ErrorCode::not_memsnap, path, "job_receipt", std::move(detail),
                      "memsnap-replay FOLDER --json FILE writes one");
}

Result<std::string> parse_file(const std::string& path, rapidjson::Document& document) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    auto text = read_receipt_file(*file);
    if (!text) return failure(std::move(text.error()));
    if (std::string problem = parse_json(*text, document); !problem.empty())
        return failure(no_job_receipt(path, "is no job's receipt: " + problem));
    const JsonValue* const schema = member(document, "schema");
    if (schema == nullptr || !schema->IsString() || text_of(*schema) != kJobSchema)
        return failure(no_job_receipt(path, fmt::format("is no receipt of the schema {}", kJobSchema)));
    return text;
}

// What its role says of whether a process ran; its recording alone does not tell.
std::optional<bool> stated_life(std::string_view role, std::optional<bool> found) {
    if (role == name(JobRole::running)) return true;
    if (role == name(JobRole::killed) || role == name(JobRole::followed)) return false;
    return role == name(JobRole::no_end_seen) ? std::nullopt : found;
}

// What had not ended when the receipt was written may have since, and be seen from one host alone.
Job as_it_was(const Job& job, const JsonValue& stated) {
    Job was = job;
    const JsonValue* const processes = member(stated, "processes");
    if (processes == nullptr || !processes->IsArray() || processes->Size() != was.processes.size())
        return was;
    for (size_t index = 0; index < was.processes.size(); ++index) {
        const JsonValue* const role = member((*processes)[static_cast<rapidjson::SizeType>(index)], "role");
        if (role == nullptr || !role->IsString()) continue;
        JobProcess& process = was.processes[index];
        process.alive = stated_life(text_of(*role), process.alive);
    }
    was.roles = roles_of(was.processes, {was.clocks_within_ns});
    return was;
}

}  // namespace

bool is_job_receipt_file(const std::string& path) {
    rapidjson::Document document;
    return parse_file(path, document).has_value();
}

Result<JobClocks> stated_clocks(const std::string& path) {
    rapidjson::Document document;
    if (const auto text = parse_file(path, document); !text) return failure(text.error());
    const JsonValue* const job = member(document, "job");
    const JsonValue* const within = job == nullptr ? nullptr : member(*job, "clocks_within_ns");
    const auto number = within == nullptr ? std::nullopt : integer_of(*within);
    if (!number || *number < 0 || *number > Wide{INT64_MAX})
        return failure(
            file_error(ErrorCode::disagreed, path, "job_receipt_differs", "job.clocks_within_ns is no time"));
    return JobClocks{static_cast<uint64_t>(*number)};
}

Result<std::string> check_job_file(const Job& job, const std::string& path) {
    rapidjson::Document stated;
    const auto text = parse_file(path, stated);
    if (!text) return failure(text.error());
    const auto written = write_job_receipt(as_it_was(job, stated));
    if (!written) return failure(written.error());
    rapidjson::Document recomputed;
    if (std::string problem = parse_json(*written, recomputed); !problem.empty())
        return failure(file_error(ErrorCode::io, path, "job_self_check", std::move(problem)));
    if (const auto difference = first_difference(stated, recomputed)) {
        return failure(
            file_error(ErrorCode::disagreed, path, "job_receipt_differs",
                       fmt::format("{}: the receipt says {}, the recordings {}", printable(difference->path),
                                   printable(difference->stated), printable(difference->found))));
    }
    if (*text != *written) {
        return failure(file_error(ErrorCode::disagreed, path, "job_receipt_differs",
                                  "every field agrees, but the text is not as it was written"));
    }
    return fmt::format("OK  {} follows from {} in every field\n", printable(path),
                       counted(job.processes.size(), "recording"));
}

}  // namespace memsnap
