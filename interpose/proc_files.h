// SPDX-License-Identifier: Apache-2.0
//
// What /proc tells about a process. The rule: what cannot be read is "not known", never a guess; a number of
// a process means something only together with its start time, since numbers are used again.
#pragma once

#include <cstdint>

#include "settings.h"

namespace memsnap::recorder {

inline constexpr uint32_t kThisProcess = 0;  // whatever its number is in the namespace of /proc

// Field 22 of /proc/<pid>/stat; 0: no such process, or not known.
uint64_t process_start_ticks(uint32_t pid);

// Whether `pid` is this process, by its number in any pid namespace that /proc shows.
bool is_this_process(uint32_t pid);

// The job in a process's environment as it was at its start; source `none` without a launcher id, or when it
// may not be read. Side thread only.
Job read_job_of(uint32_t pid);

}  // namespace memsnap::recorder
