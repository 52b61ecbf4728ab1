// SPDX-License-Identifier: Apache-2.0
//
// The page's part `outline` (docs/page.md): what the page is of, the terminal's first sentences, and a
// sentence for everything that is summarised, missing or special. The rule: what the page does not show, it
// says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "receipt_dictionary.h"

namespace memsnap {

struct PageScope {
    std::string_view memsnap_version;
    std::vector<std::string> command;  // the options that chose the incident
    // Of the events that the page holds one by one.
    uint64_t exact_first_ticket = 0, exact_event_count = 0;
};

// `window`: of the page's events.
std::string page_outline(const Capture& capture, const Window& window, const Analysis& analysis,
                         const Naming& naming, const PageScope& scope);

}  // namespace memsnap
