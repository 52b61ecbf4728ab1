// SPDX-License-Identifier: Apache-2.0
//
// A process is its number, its start, its pid namespace and its host.
#include "job_merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace memsnap {
namespace {

using Identity = std::tuple<uint64_t, uint64_t, uint32_t, uint64_t>;

// nullopt: the recording does not tell enough to know it again.
std::optional<Identity> identity_of(const HeaderFacts& header) {
    if (header.host_key == 0 || header.pid_namespace == 0 || header.process_start_ticks == 0) return {};
    return Identity(header.host_key, header.pid_namespace, header.pid, header.process_start_ticks);
}

// Later ones are greater.
auto age_of(const JobProcess& recording) {
    return std::tuple(!recording.header.superseded, recording.first_seen_ns.value_or(0),
                      recording.header.ring_id);
}

// What is shown of a process is the greatest.
int weight_of(const JobProcess& recording) {
    if (recording.error) return -1;
    constexpr int kWeights[] = {0, 1, 3, 2};  // by JobIncident
    return kWeights[static_cast<size_t>(recording.incident)];
}

JobProcess merged(std::vector<JobProcess> recordings, std::vector<Error>& unread) {
    std::ranges::sort(recordings, {}, age_of);
    for (auto earlier = recordings.begin(); earlier + 1 != recordings.end(); ++earlier) {
        if (earlier->incident == JobIncident::fatal) earlier->incident = JobIncident::survived;
    }
    const auto shown = std::ranges::max_element(recordings.rbegin(), recordings.rend(), {}, weight_of);
    const JobProcess& newest = recordings.back();
    JobProcess process = *shown;
    process.header = newest.header;
    process.alive = newest.alive;
    process.earlier_count = recordings.size() - 1;
    for (const JobProcess& one : recordings) {
        if (one.first_seen_ns)
            process.first_seen_ns = std::min(process.first_seen_ns.value_or(UINT64_MAX), *one.first_seen_ns);
        process.last_seen_ns = std::max(process.last_seen_ns, one.last_seen_ns);
        const bool told = &one == &*shown || !one.error || one.error->code == ErrorCode::dormant;
        if (!told) unread.push_back(*one.error);
    }
    return process;
}

}  // namespace

std::vector<JobProcess> one_of_each(std::vector<JobProcess> recordings, std::vector<Error>& unread) {
    std::vector<JobProcess> processes;
    std::map<Identity, std::vector<JobProcess>> known;
    for (JobProcess& one : recordings) {
        if (const auto identity = identity_of(one.header)) {
            known[*identity].push_back(std::move(one));
        } else {
            processes.push_back(std::move(one));
        }
    }
    for (auto& [identity, same] : known)
        processes.push_back(same.size() == 1 ? std::move(same.front()) : merged(std::move(same), unread));
    return processes;
}

}  // namespace memsnap
