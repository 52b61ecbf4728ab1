// SPDX-License-Identifier: Apache-2.0
//
// The processes of a job (VERDICT.md §17). Rule: one entry a process, however often it was armed; the
// newest recording tells how it ended, the gravest what became of it.
#pragma once

#include "job_account.h"

namespace oracle {

/// In the order of the receipt. `unread`: gets the errors of recordings that no entry tells of.
std::vector<Account> members_of(std::vector<Account> accounts, std::vector<int>& unread);

/// Ordinals from 1 by first appearance, 0 for a host that is not known.
std::vector<u64> number_hosts(const std::vector<Account>& members);

struct Ranks {
    std::optional<int> world_size;  ///< the greatest that was stated
    u64 count = 0;                  ///< with a recording
    std::vector<std::pair<int, int>> missing;
};
Ranks count_ranks(const std::vector<Account>& members);

}  // namespace oracle
