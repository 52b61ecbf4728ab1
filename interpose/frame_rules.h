// SPDX-License-Identifier: Apache-2.0
//
// How to get from a frame to its caller's, as libunwind tells for its return address, kept for all threads.
// The rules: what a rule says holds for every frame with that return address (its caller's frame lies at a
// constant distance from one register, the saved frame pointer at a constant distance from that); everything
// else is left to libunwind; a rule of code that may have been replaced is learnt anew.
#pragma once

#include <cstdint>

#include "operation.h"

namespace memsnap::recorder {

// Side thread: before the first walk. False where this walk does not work: libunwind's own does.
bool prepare_frame_rules(void* library, void* (*symbol)(void* library, const char* name));

// Walks from the frame that begins at `frame` (saved frame pointer, return address). Returns how many
// addresses were stored, or -1 when a frame on the way follows no rule.
int walk_by_rules(ThreadState& state, const uint64_t* frame, void** addresses, int capacity);

}  // namespace memsnap::recorder
