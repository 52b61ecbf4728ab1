// SPDX-License-Identifier: Apache-2.0
//
// Validation without a verdict: replays the whole window and every failure keyframe.
#pragma once

#include <string>

#include "capture.h"
#include "result.h"

namespace memsnap {

// The text for a terminal, or the first rule that is broken.
Result<std::string> check(const Capture& capture);

}  // namespace memsnap
