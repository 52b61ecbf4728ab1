// SPDX-License-Identifier: Apache-2.0
//
// Failure keyframes: at a failure its own thread copies what a verdict needs, so that the verdict survives
// any number of laps. The rule: a slot is written by one thread, is valid only when its first and last words
// agree, and a storm of failures costs at most one copy a second after the first two.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// Counts the failure, and keeps it where the rules of keyframes allow. `failure` is committed; `state` is
// that of the failing thread, null when it is unlisted.
void write_keyframe(Recorder& recorder, const wire::Record& failure, const ThreadState* state);

// Side thread: a recording goes back to standby. The state at the end of its window is kept in a slot of its
// own, and nothing is stored in the ring from here on.
void end_window(Recorder& recorder);

}  // namespace memsnap::recorder
