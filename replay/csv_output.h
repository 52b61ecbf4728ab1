// SPDX-License-Identifier: Apache-2.0
//
// Writes the event ledger to a file or to standard output, checking every line before it is handed out.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "result.h"

namespace memsnap {

// Error io also where the check refused a line, which is a defect of this program.
Result<void> write_ledger(const Capture& capture, const Analysis& analysis, const std::string& path,
                          bool replace);

}  // namespace memsnap
