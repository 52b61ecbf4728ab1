// SPDX-License-Identifier: Apache-2.0
//
// Looks at the heads of the folder's `*.bin` files.
#include "newest_job.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

#include "capture.h"
#include "incident.h"

namespace memsnap {

namespace {

struct Candidate {
    std::string path;
    std::filesystem::file_time_type written;
    std::tuple<JobKeySource, uint64_t> job;
    std::optional<uint64_t> failed_at_ns;  // CLOCK_REALTIME of the incident
};

std::optional<Candidate> candidate(const std::filesystem::directory_entry& entry) {
    std::error_code error;
    if (entry.path().extension() != ".bin" || !entry.is_regular_file(error)) return std::nullopt;
    const std::string path = entry.path().lexically_normal().string();
    const auto facts = Capture::read_facts(path);
    if (!facts) return std::nullopt;
    Candidate found{
        path, entry.last_write_time(error), {facts->header.job_key_source, facts->header.job_key}, {}};
    if (error) return std::nullopt;
    return found;
}

// Reads a whole recording: a keyframe alone may be of a refusal that was no incident.
void find_incident(Candidate& candidate) {
    const auto capture = Capture::read(candidate.path);
    if (!capture) return;
    const Failures failures = find_failures(*capture);
    if (const auto index = failures.incident({}, {})) {
        candidate.failed_at_ns = capture->realtime_ns(failures.listed[*index].event.time_counter).value_or(0);
    }
}

bool fails_earlier(const Candidate& a, const Candidate& b) {
    if (a.failed_at_ns && b.failed_at_ns) {
        return std::tie(*a.failed_at_ns, a.path) < std::tie(*b.failed_at_ns, b.path);
    }
    if (a.failed_at_ns || b.failed_at_ns) return a.failed_at_ns.has_value();
    return std::tie(b.written, a.path) < std::tie(a.written, b.path);
}

}  // namespace

Result<RingChoice> choose_ring(const std::string& folder) {
    std::vector<Candidate> candidates;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (auto found = candidate(entry)) candidates.push_back(std::move(*found));
    }
    const auto newest =
        std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
            return std::tie(a.written, a.path) < std::tie(b.written, b.path);
        });
    if (newest == candidates.end()) {
        Error none;
        none.code = ErrorCode::usage;
        none.file = folder;
        none.detail = "holds no recording";
        none.way_out = "give a file: memsnap-replay ring.bin";
        return failure(std::move(none));
    }
    const auto job = newest->job;
    std::erase_if(candidates, [&](const Candidate& other) { return other.job != job; });
    std::ranges::for_each(candidates, find_incident);
    std::sort(candidates.begin(), candidates.end(), fails_earlier);
    RingChoice choice;
    choice.path = candidates.front().path;
    choice.reason =
        candidates.front().failed_at_ns ? "the earliest failure of the newest job" : "the newest recording";
    for (size_t i = 1; i < candidates.size(); ++i)
        choice.others.push_back(candidates[i].path);
    return choice;
}

}  // namespace memsnap
