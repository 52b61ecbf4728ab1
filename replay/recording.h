// SPDX-License-Identifier: Apache-2.0
//
// Any file that can be replayed, as a capture. The rule: what PyTorch's tools wrote is made a ring first;
// from then on only the origin in its header tells the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../snapshot/import.h"
#include "capture.h"
#include "reference.h"

namespace memsnap {

using snapshot::ImportOptions;

struct Recording {
    Capture capture;
    std::optional<Reference> source;  // of an import: the file itself
    std::vector<std::string> notes;   // what an import left out, a sentence each
};

// Errors: as Capture::read and the readers of PyTorch's files; usage, where an option does not fit the file.
Result<Recording> open_recording(const std::string& path, const ImportOptions& options);

}  // namespace memsnap
