// SPDX-License-Identifier: Apache-2.0
//
// Who failed first, who was the victim, who followed: by times alone, without a recording.
#include "job_roles.h"

#include "catch.h"
#include "job.h"
#include "job_levels.h"
#include "job_merge.h"

using namespace memsnap;

namespace {

constexpr uint64_t kSecond_ns = 1'000'000'000;

// Seen until its fifth second, and then gone, as was seen on its own host.
JobProcess process(uint32_t pid, uint64_t host_key = 1) {
    JobProcess one;
    one.header.pid = pid;
    one.header.host_key = host_key;
    one.header.pid_namespace = 9;
    one.alive = false;
    one.first_seen_ns = 0;
    one.last_seen_ns = 5 * kSecond_ns;
    return one;
}

JobProcess failing(uint32_t pid, std::optional<uint64_t> time_ns, uint64_t host_key = 1) {
    JobProcess one = process(pid, host_key);
    one.incident = JobIncident::fatal;
    one.failure.emplace();
    one.failure->time_ns = time_ns;
    return one;
}

JobProcess exited(uint32_t pid, int status, uint64_t last_seen_ns) {
    JobProcess one = process(pid);
    one.header.exit_ticket = 1;
    one.header.exit_status = status;
    one.last_seen_ns = last_seen_ns;
    return one;
}

std::vector<JobRole> roles(const std::vector<JobProcess>& processes, uint64_t within_ns = kClocksWithin_ns) {
    std::vector<JobRole> list;
    for (const JobPart& part : roles_of(processes, {within_ns}).parts)
        list.push_back(part.role);
    return list;
}

}  // namespace

TEST_CASE("without a failure nobody followed, and those without an exit were killed") {
    CHECK(roles({exited(1, 1, kSecond_ns), exited(2, 0, kSecond_ns), process(3)}) ==
          std::vector{JobRole::ended, JobRole::ended, JobRole::killed});
    JobProcess alive = process(4);
    alive.alive = true;
    CHECK(roles({alive}) == std::vector{JobRole::running});
}

TEST_CASE(
    "processes of one kernel are in order beyond a millisecond, those of two hosts beyond what is stated") {
    const auto two = [](uint64_t apart_ns, uint64_t other_host) {
        return std::vector{failing(1, 2 * kSecond_ns), failing(2, 2 * kSecond_ns + apart_ns, other_host)};
    };
    CHECK(roles(two(1'000'001, 1)) == std::vector{JobRole::failed_first, JobRole::failed});
    CHECK(roles(two(1'000'000, 1)) == std::vector{JobRole::failed, JobRole::failed});
    CHECK(roles(two(1'000'001, 2)) == std::vector{JobRole::failed, JobRole::failed});
    CHECK(roles(two(kClocksWithin_ns + 1, 2)) == std::vector{JobRole::failed_first, JobRole::failed});
    CHECK(roles(two(1'000'001, 2), 1'000'000) == std::vector{JobRole::failed_first, JobRole::failed});
}

TEST_CASE("hosts that are not known share no clock") {
    std::vector<JobProcess> both = {failing(1, 2 * kSecond_ns, 0), failing(2, 2 * kSecond_ns + 2'000'000, 0)};
    const JobRoles told = roles_of(both, {});
    CHECK(told.clocks_compared);
    CHECK_FALSE(told.first_is_told);
}

TEST_CASE("a failure whose time is not known may have been the first") {
    const JobRoles told = roles_of({failing(1, 2 * kSecond_ns), failing(2, std::nullopt)}, {});
    CHECK(told.first == 0);
    CHECK(told.rivals == std::vector<size_t>{1});
    CHECK_FALSE(told.first_is_told);
}

TEST_CASE("a failure that the job survived counts only where no other ended it") {
    JobProcess survived = failing(1, kSecond_ns);
    survived.incident = JobIncident::survived;
    CHECK(roles({survived, failing(2, 2 * kSecond_ns)}) ==
          std::vector{JobRole::followed, JobRole::failed_first});
    CHECK(roles({survived, exited(2, 0, kSecond_ns)}) == std::vector{JobRole::failed_first, JobRole::ended});
}

TEST_CASE("one that was killed followed only when it was seen after the first failure") {
    const auto with_last = [](uint64_t last_ns) {
        JobProcess one = process(2);
        one.last_seen_ns = last_ns;
        const JobRoles told = roles_of({failing(1, 3 * kSecond_ns), one}, {});
        return std::pair(told.parts[1].role, told.parts[1].order);
    };
    CHECK(with_last(3 * kSecond_ns + 2'000'000) == std::pair(JobRole::followed, JobOrder::after));
    CHECK(with_last(3 * kSecond_ns) == std::pair(JobRole::killed, JobOrder::untold));
    CHECK(with_last(3 * kSecond_ns - kSignOfLife_ns) == std::pair(JobRole::killed, JobOrder::untold));
    CHECK(with_last(3 * kSecond_ns - kSignOfLife_ns - 2'000'000) ==
          std::pair(JobRole::killed, JobOrder::before));
}

TEST_CASE("one that nobody here can see is not called dead, whenever its last sign of life was") {
    const auto with_last = [](std::optional<uint64_t> last_ns) {
        JobProcess one = process(2, 7);
        one.alive = std::nullopt;
        one.last_seen_ns = last_ns;
        const JobRoles told = roles_of({failing(1, 30 * kSecond_ns), one}, {});
        return std::pair(told.parts[1].role, told.parts[1].order);
    };
    CHECK(with_last(40 * kSecond_ns) == std::pair(JobRole::no_end_seen, JobOrder::after));
    CHECK(with_last(30 * kSecond_ns) == std::pair(JobRole::no_end_seen, JobOrder::untold));
    CHECK(with_last(kSecond_ns) == std::pair(JobRole::no_end_seen, JobOrder::untold));
    CHECK(with_last(std::nullopt) == std::pair(JobRole::no_end_seen, JobOrder::untold));
}

TEST_CASE("one that was disarmed to cold is not called killed, and one that exited is told by its exit") {
    JobProcess disarmed = process(2);
    disarmed.header.arm_state = ArmState::cold;
    disarmed.header.disarmed_ticket = 5;
    CHECK(roles({failing(1, kSecond_ns), disarmed}) == std::vector{JobRole::failed_first, JobRole::disarmed});
    disarmed.header.exit_ticket = 9;
    CHECK(roles({failing(1, kSecond_ns), disarmed}) == std::vector{JobRole::failed_first, JobRole::ended});
}

TEST_CASE("a failure in an earlier recording of a process is its own, and one that it got over") {
    JobProcess earlier = failing(1, kSecond_ns), newest = exited(1, 3, 9 * kSecond_ns);
    earlier.header.process_start_ticks = newest.header.process_start_ticks = 77;
    earlier.header.superseded = true;
    newest.first_seen_ns = 6 * kSecond_ns;
    JobProcess namesake = newest;
    namesake.header.process_start_ticks = 78;

    std::vector<Error> unread;
    const std::vector<JobProcess> told = one_of_each({newest, namesake, earlier}, unread);
    REQUIRE(told.size() == 2);
    CHECK(told[0].earlier_count == 1);
    CHECK(told[0].incident == JobIncident::survived);
    CHECK(told[0].failure.has_value());
    CHECK(told[0].header.exit_status == 3);
    CHECK(told[0].first_seen_ns == 0);
    CHECK(told[0].last_seen_ns == 9 * kSecond_ns);
    CHECK(told[1].earlier_count == 0);
    CHECK(unread.empty());
}

TEST_CASE("a job of which nothing can be read is called dormant only where all of it is") {
    const auto status = [](std::initializer_list<ErrorCode> codes) {
        Job job;
        for (const ErrorCode code : codes)
            job.processes.emplace_back().error.emplace().code = code;
        return exit_status(job);
    };
    CHECK(status({ErrorCode::dormant, ErrorCode::corrupt}) == 4);
    CHECK(status({ErrorCode::dormant, ErrorCode::dormant}) == 7);
    CHECK(status({}) == 0);
}

TEST_CASE("a victim is one whose card was mostly held by others of its job, by pid, namespace and host") {
    JobProcess victim = failing(1, 2 * kSecond_ns);
    victim.failure->from_outside = true;
    victim.failure->others_bytes = 100;
    victim.failure->holders = {{2, 60}, {3, 40}};
    const auto with = [&](const JobProcess& other) { return roles_of({victim, other}, {}).parts[0]; };

    const JobPart part = with(process(2));
    CHECK(part.role == JobRole::victim);
    REQUIRE(part.held_by.size() == 1);
    CHECK(part.held_by.front().process == 1);
    CHECK(part.held_by.front().bytes == 60);
    CHECK(with(process(3)).role == JobRole::failed_first);     // less than half
    CHECK(with(process(2, 7)).role == JobRole::failed_first);  // another host's number
    JobProcess contained = process(2);
    contained.header.pid_namespace = 10;
    CHECK(with(contained).role == JobRole::failed_first);
    victim.failure->holder_shares_job = true;  // the process could see as much itself
    CHECK(with(contained).role == JobRole::victim);
    CHECK(with(contained).held_by.empty());
}

TEST_CASE(
    "the skew names the first of equals, takes the lower of two medians and leaves unknown levels out") {
    std::vector<JobLevels> levels(5);
    const uint64_t active[] = {30, 10, 30, 10};
    for (size_t process = 0; process < 4; ++process)
        levels[process].of(JobLedger::active) = active[process];
    levels[0].of(JobLedger::reserved) = 7;  // alone: no skew

    const std::vector<JobSkew> skew = skew_of(levels);
    REQUIRE(skew.size() == 1);
    CHECK(skew[0].known_count == 4);
    CHECK(skew[0].least_bytes == 10);
    CHECK(skew[0].least_process == 1);
    CHECK(skew[0].median_bytes == 10);
    CHECK(skew[0].most_bytes == 30);
    CHECK(skew[0].most_process == 0);
}
