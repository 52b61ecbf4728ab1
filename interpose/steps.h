// SPDX-License-Identifier: Apache-2.0
//
// The ends of steps. The rule: from the moment that the program tells of steps itself, ends of optimizer
// steps no longer stand for them: the first step that is told is the one that the last of them stood for.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// The program tells that a step ends. `flags`: wire::StepFlag.
void end_step(Recorder& recorder, const char* name, size_t name_bytes, uint32_t flags);
// Remembers that the program tells of steps, which it may do before it is recorded.
void note_told_steps();

// After an optimizer step of the calling thread.
void end_implied_step(Recorder& recorder, uint16_t thread, bool collection_off);

}  // namespace memsnap::recorder
