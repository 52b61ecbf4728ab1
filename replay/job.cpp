// SPDX-License-Identifier: Apache-2.0
//
// Two passes: each recording on its own, then each at the instant of the first failure.
#include "job.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>

#include "job_merge.h"
#include "live_process.h"

namespace memsnap {
namespace {

constexpr unsigned kReadAtOnce_most = 4;  // recordings in memory

// Calls work(0) .. work(count - 1), a few at a time.
void for_each_index(size_t count, const std::function<void(size_t)>& work) {
    std::atomic<size_t> next{0};
    const auto run = [&] {
        for (size_t index = next++; index < count; index = next++)
            work(index);
    };
    const size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kReadAtOnce_most);
    std::vector<std::jthread> helpers;
    try {
        for (size_t i = 1; i < std::min(at_once, count); ++i)
            helpers.emplace_back(run);
    } catch (const std::system_error&) {  // as many as may be had: this thread takes what is left
    }
    run();
}

Error no_memory(const std::string& path) {
    return {.code = ErrorCode::io,
            .file = path,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "memory",
            .detail = "not enough memory for this file",
            .way_out = "read it where more memory is free"};
}

JobProcess read_one(const JobFile& file, const JobReading& reading) {
    JobProcess process;
    try {
        process = read_process(file.path, reading);
    } catch (const std::bad_alloc&) {
        process = {};
        process.path = file.path;
        process.error = no_memory(file.path);
    }
    if (process.error) process.header = file.header;
    process.alive = is_alive(process.header);
    return process;
}

bool has_head(const JobProcess& process) {
    return process.header.version_major != 0;
}

auto order_of(const JobProcess& process) {
    return std::tuple(process.header.rank.value_or(INT32_MAX), process.first_seen_ns.value_or(UINT64_MAX),
                      process.header.ring_id);
}

void read_processes(const std::vector<JobFile>& files, const JobReading& reading, Job& job) {
    std::vector<JobProcess> read(files.size());
    for_each_index(files.size(), [&](size_t index) { read[index] = read_one(files[index], reading); });
    for (JobProcess& process : read) {
        if (process.error && !has_head(process)) {
            job.unread.push_back(std::move(*process.error));
        } else {
            job.processes.push_back(std::move(process));
        }
    }
    job.processes = one_of_each(std::move(job.processes), job.unread);
    std::ranges::stable_sort(job.processes, {}, order_of);
}

void number_hosts(Job& job) {
    std::map<uint64_t, uint32_t> ordinals{{0, 0}};
    for (const JobProcess& process : job.processes) {
        const auto next = static_cast<uint32_t>(ordinals.size());
        job.hosts.push_back(ordinals.try_emplace(process.header.host_key, next).first->second);
    }
    job.host_count = static_cast<uint32_t>(ordinals.size() - 1);
}

void count_ranks(Job& job) {
    std::set<int32_t> ranks;
    for (const JobProcess& process : job.processes) {
        job.world_size = std::max(job.world_size, process.header.world_size);
        if (process.header.rank) ranks.insert(*process.header.rank);
    }
    job.rank_count = ranks.size();
    if (!job.world_size || ranks.empty()) return;
    int32_t next = 0;
    for (const int32_t rank : ranks) {
        if (rank >= *job.world_size) break;
        if (rank > next) job.missing.emplace_back(next, rank - 1);
        next = rank + 1;
    }
    if (next < *job.world_size) job.missing.emplace_back(next, *job.world_size - 1);
}

JobLevels peaks_as_levels(const JobPeaks& peaks) {
    JobLevels levels;
    levels.of(JobLedger::active) = peaks.allocated_bytes;
    levels.of(JobLedger::reserved) = peaks.reserved_bytes;
    levels.of(JobLedger::outside) = peaks.outside_bytes;
    levels.of(JobLedger::device_used) = peaks.device_used_bytes;
    return levels;
}

// What cannot be read a second time has no levels.
JobLevels levels_of(const JobProcess& process, uint64_t instant_ns, bool from_failure) {
    if (process.error) return {};
    try {
        const auto recording = open_recording(process.path, {});
        if (!recording) return {};
        return levels_at(process, recording->capture, instant_ns, from_failure).value_or(JobLevels{});
    } catch (const std::bad_alloc&) {
        return {};
    }
}

void look_at_levels(Job& job) {
    job.levels.resize(job.processes.size());
    const JobProcess* const first = job.first();
    if (first != nullptr && first->failure && first->failure->time_ns) {
        job.instant = JobInstant::failure;
        job.instant_ns = first->failure->time_ns;
        for_each_index(job.processes.size(), [&](size_t index) {
            job.levels[index] = levels_of(job.processes[index], *job.instant_ns, index == *job.roles.first);
        });
    } else {
        for (size_t index = 0; index < job.processes.size(); ++index)
            job.levels[index] = peaks_as_levels(job.processes[index].peaks);
    }
    job.skew = skew_of(job.levels);
}

}  // namespace

std::string_view name(JobInstant instant) {
    return instant == JobInstant::failure ? "failure" : "peak";
}

Job read_job(std::vector<JobFile> files, const JobOptions& options) {
    Job job;
    job.clocks_within_ns = options.clocks.within_ns;
    read_processes(files, options.reading, job);
    number_hosts(job);
    count_ranks(job);
    job.roles = roles_of(job.processes, options.clocks);
    look_at_levels(job);
    return job;
}

int exit_status(const Job& job) {
    if (const JobProcess* const first = job.first()) return first->verdict_exit_status;
    std::vector<ErrorCode> codes;
    for (const JobProcess& process : job.processes) {
        if (!process.error) return 0;
        codes.push_back(process.error->code);
    }
    for (const Error& error : job.unread)
        codes.push_back(error.code);
    if (codes.empty()) return 0;
    const auto wrong = std::ranges::find_if(codes, [](ErrorCode code) { return code != ErrorCode::dormant; });
    return static_cast<int>(wrong == codes.end() ? ErrorCode::dormant : *wrong);
}

}  // namespace memsnap
