// SPDX-License-Identifier: Apache-2.0
//
// The first failure, then each process against it.
#include "job_roles.h"

#include <algorithm>

#include "job_levels.h"
#include "live_process.h"

namespace memsnap {
namespace {

class Roles {
  public:
    Roles(const std::vector<JobProcess>& processes, const JobClocks& clocks)
        : processes_(processes), clocks_(clocks), failing_(gravest()) {
        roles_.parts.resize(processes.size());
    }

    JobRoles run() {
        find_first();
        for (size_t process = 0; process < processes_.size(); ++process)
            roles_.parts[process] = part_of(process);
        return std::move(roles_);
    }

  private:
    // A failure that the job survived counts only where there is no other.
    JobIncident gravest() const {
        JobIncident gravest = JobIncident::none;
        for (const JobProcess& one : processes_) {
            const bool counts = one.incident == JobIncident::survived || ended_in_failure(one);
            if (counts && gravest != JobIncident::fatal)
                gravest = ended_in_failure(one) ? JobIncident::fatal : JobIncident::survived;
        }
        return gravest;
    }

    static bool ended_in_failure(const JobProcess& one) {
        return one.incident == JobIncident::fatal || one.incident == JobIncident::lost;
    }

    bool fails(size_t process) const {
        const JobProcess& one = processes_[process];
        if (failing_ == JobIncident::fatal) return ended_in_failure(one);
        return failing_ == JobIncident::survived && one.incident == JobIncident::survived;
    }

    std::optional<uint64_t> failed_at_ns(size_t process) const {
        const auto& failure = processes_[process].failure;
        return failure ? failure->time_ns : std::nullopt;
    }

    bool one_clock(size_t a, size_t b) const {
        const uint64_t host_key = processes_[a].header.host_key;
        return a == b || (host_key != 0 && host_key == processes_[b].header.host_key);
    }

    uint64_t within_ns(size_t a, size_t b) const {
        return one_clock(a, b) ? kSameClock_ns : clocks_.within_ns;
    }

    void find_first() {
        std::vector<size_t> failed;
        for (size_t process = 0; process < processes_.size(); ++process) {
            if (fails(process)) failed.push_back(process);
        }
        if (failed.empty()) return;
        // A time that is not known is later than any other, and may be earlier.
        const auto at = [&](size_t process) { return failed_at_ns(process).value_or(UINT64_MAX); };
        roles_.first = *std::ranges::min_element(failed, {}, at);
        for (const size_t process : failed) {
            if (process == *roles_.first) continue;
            roles_.clocks_compared = roles_.clocks_compared || !one_clock(process, *roles_.first);
            if (order_of(failed_at_ns(process), process) == JobOrder::untold)
                roles_.rivals.push_back(process);
        }
        roles_.first_is_told = roles_.rivals.empty();
    }

    // Of an instant of a process against the first failure.
    JobOrder order_of(std::optional<uint64_t> instant_ns, size_t process) const {
        const auto first_ns = failed_at_ns(*roles_.first);
        if (!instant_ns || !first_ns) return JobOrder::untold;
        const uint64_t within = within_ns(process, *roles_.first);
        if (*instant_ns > *first_ns)
            return *instant_ns - *first_ns > within ? JobOrder::after : JobOrder::untold;
        return *first_ns - *instant_ns > within ? JobOrder::before : JobOrder::untold;
    }

    // The end of a process that was killed lies between its last sign of life and the one that did not come.
    JobOrder order_of_death(size_t process) const {
        const auto last_ns = processes_[process].last_seen_ns;
        const JobOrder earliest = order_of(last_ns, process);
        if (earliest == JobOrder::after || !last_ns) return earliest;
        const JobOrder latest = order_of(latest_end_ns(*last_ns), process);
        return latest == JobOrder::before ? JobOrder::before : JobOrder::untold;
    }

    JobPart part_of(size_t process) const {
        const JobProcess& one = processes_[process];
        if (one.error) {
            const bool dormant = one.error->code == ErrorCode::dormant;
            return {.role = dormant ? JobRole::dormant : JobRole::unreadable, .held_by = {}};
        }
        return fails(process) ? failure_of(process) : ending_of(process);
    }

    JobPart failure_of(size_t process) const {
        JobPart part;
        part.held_by = holders_of(process);
        const bool is_first = process == *roles_.first;
        if (!is_first) part.order = order_of(failed_at_ns(process), process);
        part.role = is_first && roles_.first_is_told ? JobRole::failed_first : JobRole::failed;
        if (is_victim(process, part.held_by)) part.role = JobRole::victim;
        return part;
    }

    JobPart ending_of(size_t process) const {
        const JobProcess& one = processes_[process];
        const bool exited = one.header.exit_ticket.has_value();
        if (!exited && stopped_early(one.header)) return {.role = JobRole::disarmed, .held_by = {}};
        if (!exited && !one.alive) return without_end(process);
        if (!exited && *one.alive) return {.role = JobRole::running, .held_by = {}};
        JobPart part;
        part.role = exited ? JobRole::ended : JobRole::killed;
        if (!roles_.first) return part;
        part.order = exited ? order_of(one.last_seen_ns, process) : order_of_death(process);
        const bool in_error = !exited || one.header.exit_status != 0;
        if (in_error && part.order == JobOrder::after) part.role = JobRole::followed;
        return part;
    }

    // Where its end lies is known from one side alone: behind its last sign of life.
    JobPart without_end(size_t process) const {
        JobPart part{.role = JobRole::no_end_seen, .held_by = {}};
        if (!roles_.first) return part;
        const bool after = order_of(processes_[process].last_seen_ns, process) == JobOrder::after;
        part.order = after ? JobOrder::after : JobOrder::untold;
        return part;
    }

    std::vector<HeldBy> holders_of(size_t process) const {
        const JobProcess& one = processes_[process];
        std::vector<HeldBy> held;
        if (!one.failure) return held;
        for (const CardHolder& holder : one.failure->holders) {
            if (const auto other = process_of(holder.pid, process)) held.push_back({*other, holder.bytes});
        }
        return held;
    }

    // Numbers of processes mean something in one pid namespace of one host.
    std::optional<size_t> process_of(uint32_t pid, size_t asker) const {
        const HeaderFacts& own = processes_[asker].header;
        for (size_t process = 0; process < processes_.size(); ++process) {
            const HeaderFacts& other = processes_[process].header;
            const bool same_numbers = one_clock(process, asker) && other.pid_namespace == own.pid_namespace;
            if (process != asker && same_numbers && other.pid == pid) return process;
        }
        return std::nullopt;
    }

    // Others of this job hold at least half of what is held by others.
    bool is_victim(size_t process, const std::vector<HeldBy>& held_by) const {
        const auto& failure = processes_[process].failure;
        if (!failure || !failure->from_outside) return false;
        Wide held_bytes = 0;
        for (const HeldBy& one : held_by)
            held_bytes += one.bytes;
        const bool by_job =
            failure->others_bytes && held_bytes > 0 && 2 * held_bytes >= *failure->others_bytes;
        return by_job || failure->holder_shares_job;
    }

    const std::vector<JobProcess>& processes_;
    const JobClocks clocks_;
    const JobIncident failing_;
    JobRoles roles_;
};

}  // namespace

std::string_view name(JobRole role) {
    constexpr std::string_view kNames[] = {"failed_first", "failed",  "victim",    "followed",
                                           "killed",       "ended",   "running",   "no_end_seen",
                                           "disarmed",     "dormant", "unreadable"};
    return kNames[static_cast<size_t>(role)];
}

std::string_view name(JobOrder order) {
    constexpr std::string_view kNames[] = {"none", "before", "after", "untold"};
    return kNames[static_cast<size_t>(order)];
}

JobRoles roles_of(const std::vector<JobProcess>& processes, const JobClocks& clocks) {
    return Roles(processes, clocks).run();
}

}  // namespace memsnap
