// SPDX-License-Identifier: Apache-2.0
//
// Exports for other tools into their files. The rule: what was written is read again before the file gets its
// name.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

// For PyTorch's viewer. `-` is standard output. Errors: corrupt, io.
Result<void> write_pickle(const Capture& capture, const Naming& naming, const std::string& path,
                          bool replace);

// For ui.perfetto.dev; likewise.
Result<void> write_trace(const Capture& capture, const Analysis& analysis, const Naming& naming,
                         const std::string& path, bool replace);

}  // namespace memsnap
