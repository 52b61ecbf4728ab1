// SPDX-License-Identifier: Apache-2.0
//
// Reads the two sides of a comparison. The rule: what AFTER was granted is counted by what BEFORE asked for
// in vain; a side without a failure is looked at on the device on which the other one failed.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "diff_side.h"
#include "digest.h"
#include "result.h"

namespace memsnap {

// BEFORE and AFTER; a ring's receipt is looked at with tokens of the key. Errors: not_memsnap, corrupt, io.
Result<std::pair<DiffSide, DiffSide>> read_sides(const std::string& before_path,
                                                 const std::string& after_path,
                                                 const std::optional<TokenKey>& key = {});

}  // namespace memsnap
