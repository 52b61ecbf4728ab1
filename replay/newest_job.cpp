// SPDX-License-Identifier: Apache-2.0
//
// The job by the heads of its files, then the incident of each.
#include "newest_job.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

#include "capture.h"
#include "incident.h"
#include "job_files.h"

namespace memsnap {

namespace {

struct Candidate {
    std::string path;
    std::filesystem::file_time_type written;
    std::optional<uint64_t> failed_at_ns;  // CLOCK_REALTIME of the incident
};

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
    const std::vector<FoundJob> jobs = jobs_of(find_recordings(folder, 0).recordings);
    if (jobs.empty()) {
        Error none;
        none.code = ErrorCode::usage;
        none.file = folder;
        none.detail = "holds no recording";
        none.way_out = "give a file: memsnap-replay ring.bin";
        return failure(std::move(none));
    }
    std::vector<Candidate> candidates;
    for (const JobFile& file : jobs.front().files)
        candidates.push_back({file.path, file.written, {}});
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
