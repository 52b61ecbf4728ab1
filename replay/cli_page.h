// SPDX-License-Identifier: Apache-2.0
//
// The page as the options ask for it. The rule: names are in it where the terminal would show them, unless
// they were hidden; its receipt never has them.
#pragma once

#include "analysis.h"
#include "cli_names.h"
#include "cli_options.h"
#include "page_output.h"
#include "reference.h"

namespace memsnap {

struct PageCommand {
    AnalysisOptions analysis;
    uint64_t events_most = kPageEvents_most;
    bool names_hidden = false;
};

// Whether texts of the sidecar are in the page now. Errors: corrupt, io.
Result<bool> add_incident(Page& page, PageSide side, const Capture& capture, const Analysis& analysis,
                          const KnownNames& known, const References& references, const PageCommand& command);

// On a terminal, where they are.
void say_what_is_told(bool has_names);

// The two incidents of a comparison and what it came to, as `diff --html` writes them.
Result<void> write_comparison_page(const ComparisonOptions& options, const std::string& json);

}  // namespace memsnap
