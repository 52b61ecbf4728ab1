// SPDX-License-Identifier: Apache-2.0
//
// The recordings of one process as one entry of a job: each arming from cold makes a new file. The rule: the
// newest tells how the process ended; what failed in an earlier one is still the process's own failure, and
// one that it got over, since it was there to record again.
#pragma once

#include <vector>

#include "job_process.h"
#include "result.h"

namespace memsnap {

// In no order. Errors of recordings that get no entry of their own go to `unread`.
std::vector<JobProcess> one_of_each(std::vector<JobProcess> recordings, std::vector<Error>& unread);

}  // namespace memsnap
