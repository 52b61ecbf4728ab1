// SPDX-License-Identifier: Apache-2.0
//
// Whether a stream is being captured into a graph. The rule: the driver is asked only while some capture is
// in progress; a count that is too high costs a question, one that is too low would take a graph's node for
// memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace memsnap::recorder {

extern std::atomic<int32_t> g_capture_count;

// `per_thread_default`: 0 means the calling thread's own default stream. The legacy default stream is never
// captured.
bool is_captured(void* stream, bool per_thread_default);

}  // namespace memsnap::recorder
