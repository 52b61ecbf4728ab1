// SPDX-License-Identifier: Apache-2.0
//
// Which recording is meant when none is named. The rule: the newest job of the folder, of its rings the one
// with the earliest failure, else the newest; the choice and what was left out are said.
#pragma once

#include <string>
#include <vector>

#include "result.h"

namespace memsnap {

struct RingChoice {
    std::string path;
    std::string reason;               // for a sentence: "the newest job's ..."
    std::vector<std::string> others;  // other rings of that job
};

// Errors: usage, when the folder holds no recording.
Result<RingChoice> choose_ring(const std::string& folder);

}  // namespace memsnap
