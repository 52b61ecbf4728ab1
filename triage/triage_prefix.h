// SPDX-License-Identifier: Apache-2.0
//
// What launchers and loggers put in front of a line: times, levels, ranks, processes. The rule: only what is
// known to be such a prefix is taken off, so that no word of a message is.
#pragma once

#include <cstddef>
#include <string_view>

#include "triage_text.h"

namespace memsnap {

struct LinePrefix {
    size_t length_bytes = 0;
    LogLabel label;
};

// Of the beginning of a line.
LinePrefix line_prefix(std::string_view line);

}  // namespace memsnap
