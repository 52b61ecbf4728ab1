// SPDX-License-Identifier: Apache-2.0
//
// Which process of a job failed first, which failed too, which was the victim of another one, which merely
// followed. The rule: two instants are in order only when they are further apart than the clocks may be; what
// cannot be told from the times is said to be untold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "job_process.h"

namespace memsnap {

enum class JobRole : uint8_t {
    failed_first,
    failed,    // ran out of memory too, or nobody can tell which of them was the first
    victim,    // ran out of memory because another process of the job held its card
    followed,  // ended with an error, or was killed, after the first failure
    killed,    // is gone without an exit, and not known to have gone after a failure
    ended,     // exited with no failure before it, or with status 0
    running,
    no_end_seen,  // has no exit, and nobody here can tell whether it runs
    disarmed,     // its recording was ended before the process was
    dormant,      // its recording waits to be armed, and holds nothing yet
    unreadable    // only the head of its recording could be read, or not even that
};
std::string_view name(JobRole role);

// Against the first failure.
enum class JobOrder : uint8_t {
    none,  // nothing failed, or it is the first itself, or it is not known to have ended
    before,
    after,
    untold
};
std::string_view name(JobOrder order);

// What of a victim's card another process of the job held.
struct HeldBy {
    size_t process = 0;
    uint64_t bytes = 0;
};

struct JobPart {
    JobRole role = JobRole::ended;
    JobOrder order = JobOrder::none;
    std::vector<HeldBy> held_by;  // most bytes first
};

struct JobRoles {
    std::vector<JobPart> parts;    // by process
    std::optional<size_t> first;   // the earliest failure by its clock, or the only one
    bool first_is_told = false;    // it is the earliest whatever the clocks may be off
    std::vector<size_t> rivals;    // that may have failed before it
    bool clocks_compared = false;  // of several hosts, or of one that is not known
};

// Of processes that share a kernel, and so a clock.
inline constexpr uint64_t kSameClock_ns = 1'000'000;
// Of hosts whose clocks are kept by NTP, which steps what is further off.
inline constexpr uint64_t kClocksWithin_ns = 128'000'000;

struct JobClocks {
    uint64_t within_ns = kClocksWithin_ns;
};

JobRoles roles_of(const std::vector<JobProcess>& processes, const JobClocks& clocks);

}  // namespace memsnap
