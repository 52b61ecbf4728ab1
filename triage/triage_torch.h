// SPDX-License-Identifier: Apache-2.0
//
// The messages of PyTorch's allocators, of every version. The rule: a message is read phrase by phrase; where
// it stops being one, because it was cut off, what came before stands.
#pragma once

#include "triage_message.h"

namespace memsnap {

// Each leaves the cursor behind what it read. nullopt: it is none; the cursor then does not count.

// Behind "tried to allocate".
std::optional<LogMessage> torch_message(LogCursor& cursor);
// Behind "MPS backend out of memory".
std::optional<LogMessage> mps_message(LogCursor& cursor);
// Behind "Allocation on device".
std::optional<LogMessage> async_message(LogCursor& cursor);
// Behind "Allocation was preemptively rejected".
LogMessage rejected_message(LogCursor& cursor);
// Behind "with OOM on device".
std::optional<LogRefusal> refusal(LogCursor& cursor);

}  // namespace memsnap
