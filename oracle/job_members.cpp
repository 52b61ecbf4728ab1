// SPDX-License-Identifier: Apache-2.0
//
// Joins, orders and counts. Rule: who is joined shares host, pid namespace, start and number, all of them
// known.
#include "job_members.h"

#include <map>
#include <set>

namespace oracle {
namespace {

using Recordings = std::vector<Account>;  // of one process, the newest last

bool is_older(const Account& a, const Account& b) {
    auto age = [](const Account& account) {
        return std::tuple(!account.identity.superseded, account.first_seen_ns.value_or(0),
                          account.identity.ring_id);
    };
    return age(a) < age(b);
}

Account joined(Recordings recordings, std::vector<int>& unread) {
    std::sort(recordings.begin(), recordings.end(), is_older);
    std::size_t newest = recordings.size() - 1, shown = newest;
    // It was there to record again.
    for (std::size_t i = 0; i < newest; ++i) {
        if (recordings[i].fate == Fate::kFatal) recordings[i].fate = Fate::kSurvived;
    }
    for (std::size_t i = newest; i-- > 0;) {
        if (recordings[i].fate > recordings[shown].fate) shown = i;
    }
    auto member = recordings[shown];
    member.identity = recordings[newest].identity;
    member.earlier_count = newest;
    for (std::size_t i = 0; i < recordings.size(); ++i) {
        const auto& one = recordings[i];
        if (one.first_seen_ns)
            member.first_seen_ns =
                std::min(member.first_seen_ns.value_or(*one.first_seen_ns), *one.first_seen_ns);
        member.last_seen_ns = std::max(member.last_seen_ns, one.last_seen_ns);
        if (i != shown && one.is_head_alone() && one.error != kExitDormant) unread.push_back(one.error);
    }
    return member;
}

bool comes_before(const Account& a, const Account& b) {
    auto place = [](const Account& account) {
        const auto& rank = account.identity.rank;
        const auto& seen = account.first_seen_ns;
        return std::tuple(!rank, rank.value_or(0), !seen, seen.value_or(0), account.identity.ring_id);
    };
    return place(a) < place(b);
}

}  // namespace

std::vector<Account> members_of(std::vector<Account> accounts, std::vector<int>& unread) {
    std::vector<Account> members;
    std::map<std::tuple<u64, u64, u64, u32>, Recordings> processes;
    for (auto& account : accounts) {
        const auto& who = account.identity;
        bool known = who.host != 0 && who.pid_namespace != 0 && who.process_start != 0;
        auto& place = known ? processes[{who.host, who.pid_namespace, who.process_start, who.pid}] : members;
        place.push_back(std::move(account));
    }
    for (auto& [process, recordings] : processes)
        members.push_back(joined(std::move(recordings), unread));
    std::stable_sort(members.begin(), members.end(), comes_before);
    return members;
}

std::vector<u64> number_hosts(const std::vector<Account>& members) {
    std::map<u64, u64> ordinals{{0, 0}};
    std::vector<u64> hosts;
    for (const auto& member : members)
        hosts.push_back(ordinals.try_emplace(member.identity.host, ordinals.size()).first->second);
    return hosts;
}

Ranks count_ranks(const std::vector<Account>& members) {
    Ranks ranks;
    std::set<int> there;
    for (const auto& member : members) {
        ranks.world_size = std::max(ranks.world_size, member.identity.world_size);
        if (member.identity.rank) there.insert(*member.identity.rank);
    }
    ranks.count = there.size();
    if (!ranks.world_size || there.empty()) return ranks;
    there.insert(*ranks.world_size);
    int next = 0;
    for (int rank : there) {
        if (rank > *ranks.world_size) break;
        if (rank > next) ranks.missing.emplace_back(next, rank - 1);
        next = rank + (rank < *ranks.world_size ? 1 : 0);
    }
    return ranks;
}

}  // namespace oracle
