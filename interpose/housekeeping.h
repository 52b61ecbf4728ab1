// SPDX-License-Identifier: Apache-2.0
//
// How much of a folder recordings may take, by the user's rules. The rules of this file: without a rule
// nothing is looked at; only what is surely a recording of this user's, finished, and without a failure is
// ever removed, the oldest first; no memory is taken, since the first event may come under any lock.
#pragma once

#include <cstdint>

#include "text.h"

namespace memsnap::recorder {

struct HousekeepingRules {
    uint32_t kept_count = 0;    // finished recordings without a failure that stay; 0: all
    uint64_t budget_bytes = 0;  // all recordings of the folder together; 0: no limit
};

// Makes room for one more recording in the folder of `path`; false when `needed_bytes` more would be beyond
// the budget.
bool make_room(const Path& path, const HousekeepingRules& rules, uint64_t needed_bytes);

}  // namespace memsnap::recorder
