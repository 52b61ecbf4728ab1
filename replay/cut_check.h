// SPDX-License-Identifier: Apache-2.0
//
// Whether a cut says what its recording says. The rule: the text is encoded, replayed as any recording, and
// every number that the verdict rests on is compared; what a cut leaves out by design is not in the list.
#pragma once

#include <string>
#include <string_view>

#include "analysis.h"
#include "capture.h"
#include "cut_writer.h"
#include "result.h"

namespace memsnap {

// The recording that a text makes.
Result<Capture> read_text(std::string_view text);

// Empty, or the first field that differs with both values.
std::string first_difference(const Incident& original, const Analysis& cut, const CutDraft& draft);

}  // namespace memsnap
