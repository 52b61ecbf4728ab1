// SPDX-License-Identifier: Apache-2.0
//
// A recording as a memory snapshot of PyTorch's, for its viewer and its script (docs/snapshots.md, "Export").
// The rule: what a snapshot can say is said as PyTorch says it; texts are tokens unless names were asked for;
// the file is handed on as it is made.
#pragma once

#include "../snapshot/pickle_writer.h"
#include "capture.h"
#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

// What was written, to be compared with what is read of it.
struct ExportedCounts {
    uint64_t entry_count = 0;
    uint64_t segment_count = 0;
    bool complete = false;  // false: the sink had enough
};

// Errors: corrupt, as replay() finds it.
Result<ExportedCounts> write_snapshot(const Capture& capture, const Naming& naming,
                                      const snapshot::ByteSink& sink);

// Reads an exported file again. Errors: io, when it does not hold what was written, or a text without leave.
Result<void> check_snapshot(const std::string& path, const ExportedCounts& counts, bool with_names,
                            const std::string& source);

}  // namespace memsnap
