// SPDX-License-Identifier: Apache-2.0
//
// What a process held of its card at an instant of the wall clock, and how that differs between the processes
// of a job. The rule: what was stated last at or before the instant counts, as it was stated; a process that
// was not there, or whose recording does not reach back or ended before, has no level, which is not 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture.h"
#include "job_process.h"

namespace memsnap {

enum class JobLedger : uint8_t {
    active,
    reserved,
    outside,
    device_used
};
inline constexpr std::array kJobLedgers = {JobLedger::active, JobLedger::reserved, JobLedger::outside,
                                           JobLedger::device_used};
std::string_view name(JobLedger ledger);

struct JobLevels {
    std::array<std::optional<uint64_t>, kJobLedgers.size()> bytes;  // by JobLedger
    std::optional<uint64_t> observation_age_ns;                     // of the device's own answer

    std::optional<uint64_t> of(JobLedger ledger) const { return bytes[static_cast<size_t>(ledger)]; }
    std::optional<uint64_t>& of(JobLedger ledger) { return bytes[static_cast<size_t>(ledger)]; }
};

// Of one device. `from_failure`: the instant is this process's own failure.
Result<JobLevels> levels_at(const JobProcess& process, const Capture& capture, uint64_t instant_ns,
                            bool from_failure);

// How long after its last sign of life a process may still be there: the recorder gives one each second.
inline constexpr uint64_t kSignOfLife_ns = 2'000'000'000;
// Until when, at the most.
uint64_t latest_end_ns(uint64_t last_seen_ns);

struct JobSkew {
    JobLedger ledger = JobLedger::active;
    uint64_t known_count = 0;
    uint64_t least_bytes = 0, median_bytes = 0, most_bytes = 0;  // the lower one of two medians
    size_t least_process = 0, most_process = 0;                  // the first of equals
};

// Of the ledgers that two processes or more have a level of.
std::vector<JobSkew> skew_of(const std::vector<JobLevels>& levels);

}  // namespace memsnap
