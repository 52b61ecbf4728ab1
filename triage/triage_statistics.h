// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's own statistics in a log. The rule: only current values of all pools are taken; a cell of the
// table is what its cut-off number can stand for.
#pragma once

#include "triage_message.h"

namespace memsnap {

// Behind "memory summary, device".
LogStatistics summary_statistics(LogCursor& cursor);

// At a key of memory_stats(), flat or nested, as JSON or as Python prints it: the one value. nullopt: the key
// stands there without one, as it does in a program's text.
std::optional<LogStatistics> one_statistic(LogCursor& cursor);

// Whether `more` goes on with what `so_far` began: other values of one print.
bool continues(const LogStatistics& so_far, const LogStatistics& more);
void join(LogStatistics& so_far, const LogStatistics& more);

}  // namespace memsnap
