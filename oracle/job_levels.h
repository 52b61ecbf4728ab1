// SPDX-License-Identifier: Apache-2.0
//
// What the processes of a job held of their cards (VERDICT.md §17). Rule: what was stated last by the
// instant counts; what is not known is no level, and not 0.
#pragma once

#include "job_account.h"

namespace oracle {

struct Levels {
    Amounts bytes;
    std::optional<Int> observation_age_ns;
};

/// Of the process whose failure the instant is.
Levels levels_at_failure(const File& file, const Account& account);
/// Of another one.
Levels levels_at(const File& file, const Account& account, Int instant_ns);

/// By ledger, of those that two processes or more have a level of.
Json skew_of(const std::vector<Levels>& levels);

}  // namespace oracle
