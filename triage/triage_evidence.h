// SPDX-License-Identifier: Apache-2.0
//
// From what a message says to what the verdict is decided from (VERDICT.md §14). The rule: intervals in,
// intervals out; a number that the text does not hold stays unknown.
#pragma once

#include "evidence.h"
#include "triage_message.h"

namespace memsnap {

// What else the log says of the same instant; nullptr: nothing.
struct LogContext {
    const LogStatistics* statistics = nullptr;
    const LogRefusal* refusal = nullptr;
};

Evidence evidence_of(const LogMessage& message, const LogContext& context);

// Whether they can be of one instant: allocated and reserved are the same.
bool same_instant(const LogMessage& message, const LogStatistics& statistics);
bool same_call(const LogMessage& message, const LogRefusal& refusal);

// Whether active bytes were told, or only bounded by what the cache held.
bool active_told(const LogMessage& message, const LogContext& context);

// Of PyTorch's caching allocator, with numbers.
bool is_caching(TriageFormat format);

}  // namespace memsnap
