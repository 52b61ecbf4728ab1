// SPDX-License-Identifier: Apache-2.0
//
// What the report says first: what happened, and why. The rule: the terminal and the page say it in the same
// words.
#pragma once

#include <string>
#include <string_view>

#include "analysis.h"
#include "capture.h"
#include "reader_names.h"
#include "report_text.h"

namespace memsnap {

struct Headline {
    std::string_view title;  // in capitals
    std::string event;
    std::string beside;      // what belongs behind the event; may be empty
    std::string cause;       // empty without an incident in evidence
    std::string unexcluded;  // what the cause could not rule out; may be empty
};

Headline headline(const Capture& capture, const Analysis& analysis, const Names& names,
                  const ReportSymbols& symbols);

}  // namespace memsnap
