// SPDX-License-Identifier: Apache-2.0
//
// A job of many processes, explained as one. The rule: each recording is read on its own, a few at a time,
// and gets the verdict it gets alone; the result does not depend on how many are read at once; a recording
// that cannot be read is an entry, and the others go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job_files.h"
#include "job_levels.h"
#include "job_process.h"
#include "job_roles.h"

namespace memsnap {

struct JobOptions {
    JobClocks clocks;
    JobReading reading;
};

// What the levels of the processes are of.
enum class JobInstant : uint8_t {
    failure,  // one instant: the first failure
    peak      // each ledger's own greatest
};
std::string_view name(JobInstant instant);

using RankRange = std::pair<int32_t, int32_t>;  // first and last

struct Job {
    std::vector<JobProcess> processes;  // by rank, then by their first sign of life
    std::vector<uint32_t> hosts;        // by process: ordinal from 1, 0 not known
    uint32_t host_count = 0;
    std::vector<Error> unread;  // recordings without a head, so of no known rank, and others without a row
    JobRoles roles;
    JobInstant instant = JobInstant::peak;
    std::optional<uint64_t> instant_ns;
    std::vector<JobLevels> levels;  // by process
    std::vector<JobSkew> skew;
    std::optional<int32_t> world_size;
    uint64_t rank_count = 0;         // of those that a recording is there of
    std::vector<RankRange> missing;  // ranks without a recording
    uint64_t clocks_within_ns = 0;   // what the clocks of two hosts were taken to be off at most

    const JobProcess* first() const { return roles.first ? &processes[*roles.first] : nullptr; }
};

Job read_job(std::vector<JobFile> files, const JobOptions& options);

// As that of the first failure's own verdict; 0 without a failure; where nothing could be read, the first
// error's, and where all wait to be armed, that of such a one.
int exit_status(const Job& job);

}  // namespace memsnap
