// SPDX-License-Identifier: Apache-2.0
//
// The recorder's own thread does everything slow: clock anchors, touching ring pages ahead of the writers,
// the one line on stderr, versions, samples of the devices. The rules: started only after the program's own
// cuInit succeeded, never under an allocator's lock, never in a forked child that did not initialise CUDA
// itself; blocks all signals.
#pragma once

namespace memsnap::recorder {

void start_side_thread();
void wake_side_thread();

// A failure was recorded: the line on stderr is due. Called in hooks: only leaves a mark and wakes the
// thread.
void announce_failure();

}  // namespace memsnap::recorder
