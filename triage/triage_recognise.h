// SPDX-License-Identifier: Apache-2.0
//
// What stands at a phrase about memory: a message of a known format, statistics, a warning, something that
// only smells of memory, or nothing. The rule: what is neither known nor a program's text is never nothing.
#pragma once

#include <variant>

#include "triage_message.h"
#include "triage_phrase.h"

namespace memsnap {

struct Recognised {
    std::variant<std::monostate, LogMessage, LogStatistics, LogRefusal, LogRecording, LogUnrecognised> what;
    size_t begin = 0;  // letters that belong to it
    size_t end = 0;
};

// Letters that it may look at behind a phrase.
inline constexpr size_t kRecogniserReach = 8192;

// The phrase stands at [begin, behind).
Recognised recognise(const TightText& text, LogPhrase phrase, size_t begin, size_t behind);

}  // namespace memsnap
