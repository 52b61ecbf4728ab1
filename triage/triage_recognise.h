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

// The phrase stands at [begin, behind). Nothing behind the horizon is looked at; it is the end of the text,
// or leaves the line of the phrase and kQuoteBehind_most letters before it.
inline constexpr size_t kQuoteBehind_most = 240;  // letters
Recognised recognise(const TightText& text, LogPhrase phrase, size_t begin, size_t behind,
                     LogHorizon& horizon);

}  // namespace memsnap
