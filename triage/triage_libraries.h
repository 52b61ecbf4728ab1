// SPDX-License-Identifier: Apache-2.0
//
// The messages of other libraries and of what is built on PyTorch. The rule: as for PyTorch's.
#pragma once

#include "triage_message.h"

namespace memsnap {

// Behind "free memory on device": vLLM's check at its start.
std::optional<LogMessage> startup_message(LogCursor& cursor);
// Behind "error in memory profiling".
LogMessage profiling_message(LogCursor& cursor);
// Behind RESOURCE_EXHAUSTED.
std::optional<LogMessage> xla_message(LogCursor& cursor);
// Behind "ran out of memory", of which `begin` is the first letter of "out".
std::optional<LogMessage> bfc_message(const TightText& text, size_t begin, LogCursor& cursor);
// Behind "OOM when allocating tensor".
LogMessage tensor_message(LogCursor& cursor);
// Behind "maximum pool size exceeded".
LogMessage pool_message(LogCursor& cursor);
// Behind "device allocation of".
std::optional<LogMessage> store_message(LogCursor& cursor);
// Behind "failed to CUDA".
std::optional<LogMessage> nccl_message(LogCursor& cursor);

}  // namespace memsnap
