// SPDX-License-Identifier: Apache-2.0
//
// A recording as a trace for ui.perfetto.dev, in Chrome's JSON form (docs/snapshots.md, "Perfetto"): counters
// by device, slices by thread, failures where they happened. The rule: times never go back, slices of a
// thread nest, and every text is a fixed word or a token unless names were asked for.
#pragma once

#include <string_view>

#include "../snapshot/pickle_writer.h"
#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"
#include "result.h"

namespace memsnap {

// False: the sink had enough.
bool write_perfetto(const Capture& capture, const Analysis& analysis, const Naming& naming,
                    const snapshot::ByteSink& sink);

// Reads a written trace again. Errors: io, when it is no JSON, or holds a text without leave.
Result<void> check_perfetto(const std::string& path, bool with_names, const std::string& source);

}  // namespace memsnap
