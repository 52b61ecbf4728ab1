// SPDX-License-Identifier: Apache-2.0
//
// The ledgers' state at the end of a recording as text. A renderer: stable words, no interpretation.
#pragma once

#include <cstdio>

#include "capture.h"
#include "result.h"

namespace memsnap {

// Nothing is written when the recording breaks a rule.
Result<void> dump_state(const Capture& capture, std::FILE* out);

}  // namespace memsnap
