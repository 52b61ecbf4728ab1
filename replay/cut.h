// SPDX-License-Identifier: Apache-2.0
//
// The incident cut out of its recording: a short text (docs/events.md) from which the encoder makes a ring
// that leads to the same verdict. The rule: a cut is written only after it has been encoded, replayed and
// compared with what it was cut from, and nothing that does not fit its bounds is dropped.
#pragma once

#include <string>

#include "analysis.h"
#include "capture.h"
#include "result.h"

namespace memsnap {

struct CutBounds {
    uint64_t events_count = 96;
    uint64_t segments_count = 16;
    uint64_t blocks_count = 32;  // of one segment
};

// Needs an incident in the analysis. Errors: disagreed, when the bounds do not hold it, when its history
// cannot be left out, or when the cut would not say the same.
Result<std::string> cut_incident(const Capture& capture, const Analysis& analysis, const CutBounds& bounds);

}  // namespace memsnap
