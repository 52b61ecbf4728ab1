// SPDX-License-Identifier: Apache-2.0
//
// A walk over folders, and a sort.
#include "job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace memsnap {
namespace {

namespace files = std::filesystem;

void take_file(const files::directory_entry& entry, FoundFiles& found) {
    std::error_code error;
    if (entry.path().extension() != ".bin" || !entry.is_regular_file(error)) return;
    const std::string path = entry.path().lexically_normal().string();
    const auto written = entry.last_write_time(error);
    auto facts = Capture::read_facts(path);
    if (facts && !error) {
        found.recordings.push_back({path, written, facts->header});
    } else if (!facts && facts.error().code == ErrorCode::not_memsnap && facts.error().rule == "magic") {
        ++found.foreign_count;
    } else if (!facts) {
        found.damaged.push_back(std::move(facts.error()));
    }
}

void take_folder(const files::path& folder, int depth, FoundFiles& found) {
    std::error_code error, unknown;
    files::directory_iterator entry(folder, error);
    for (; !error && entry != files::directory_iterator(); entry.increment(error)) {
        const bool is_folder = entry->is_directory(unknown) && !entry->is_symlink(unknown);
        if (is_folder && depth > 0) take_folder(entry->path(), depth - 1, found);
        if (!is_folder) take_file(*entry, found);
    }
    if (error) found.damaged.push_back(unreadable_folder(folder.lexically_normal().string(), error));
}

auto fullness_of(const JobFile& file) {
    return std::tuple(file.header.exit_ticket.has_value(), file.header.head_ticket, file.written);
}

bool is_newer(const FoundJob& a, const FoundJob& b) {
    return std::tie(b.written, a.key) < std::tie(a.written, b.key);
}

}  // namespace

JobKey job_key_of(const HeaderFacts& header) {
    const bool of_host = header.job_key_source == JobKeySource::session;
    return {header.job_key_source, header.job_key, of_host ? header.host_key : 0};
}

std::string text_of(const JobKey& key) {
    return key.source == JobKeySource::none ? "none" : fmt::format("{:#x}", key.key);
}

FoundFiles find_recordings(const std::string& folder, int depth) {
    FoundFiles found;
    take_folder(folder, depth, found);
    std::ranges::sort(found.recordings, {}, &JobFile::path);
    std::ranges::sort(found.damaged, {}, &Error::file);
    return found;
}

Error unreadable_folder(const std::string& path, std::error_code error) {
    return {.code = ErrorCode::io,
            .file = path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "readable",
            .detail = "cannot be listed: " + error.message(),
            .way_out = "read it as a user who may"};
}

uint64_t drop_repeats(std::vector<JobFile>& recordings) {
    std::map<std::array<uint8_t, 16>, const JobFile*> kept;
    for (const JobFile& file : recordings) {
        const auto [place, is_new] = kept.try_emplace(file.header.ring_id, &file);
        if (!is_new && fullness_of(file) > fullness_of(*place->second)) place->second = &file;
    }
    std::vector<JobFile> left;
    for (const JobFile& file : recordings) {
        const bool has_head = file.header.version_major != 0;
        if (!has_head || kept.at(file.header.ring_id) == &file) left.push_back(file);
    }
    std::swap(recordings, left);
    return left.size() - recordings.size();
}

std::vector<FoundJob> jobs_of(std::vector<JobFile> recordings) {
    std::map<JobKey, FoundJob> by_key;
    for (JobFile& file : recordings) {
        const JobKey key = job_key_of(file.header);
        FoundJob& job = by_key[key];
        job.key = key;
        job.written = job.files.empty() ? file.written : std::max(job.written, file.written);
        job.files.push_back(std::move(file));
    }
    std::vector<FoundJob> jobs;
    for (auto& [key, job] : by_key)
        jobs.push_back(std::move(job));
    std::ranges::sort(jobs, is_newer);
    for (FoundJob& job : jobs)
        std::ranges::sort(job.files, {}, &JobFile::path);
    return jobs;
}

}  // namespace memsnap
