// SPDX-License-Identifier: Apache-2.0
//
// A comparison as canonical JSON that may leave the company, like the two receipts it compares. The rule:
// integers, words of closed lists and digests only; what was written is parsed again and checked.
#pragma once

#include <string>
#include <string_view>

#include "diff.h"
#include "result.h"

namespace memsnap {

// Error io: the self-check refused it, which is a defect of this program.
Result<std::string> diff_json(const Diff& diff);

// Empty when all is well, else the place and what is wrong there.
std::string check_diff(std::string_view text);

}  // namespace memsnap
