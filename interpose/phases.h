// SPDX-License-Identifier: Apache-2.0
//
// The ranges that each thread has open, and so the phase and step of a birth. The rules: a thread's ranges
// are opened by itself alone; other threads read them, and close one only by its handle; marking is bounded
// work and never waits.
#pragma once

#include "process.h"
#include "python_frames.h"

namespace memsnap::recorder {

// Where a birth on the thread of `state` is: the steps ended before it, and its phase, the folded name of the
// innermost labelling range (0: none).
void set_place(const Recorder& recorder, const ThreadState* state, Event& birth);

// A handle that no other range of this process or its ancestors has; never 0.
uint64_t next_handle();

// Opens a range on the calling thread and returns its handle, which is another one when the thread has too
// many open. `detail`: wire.h, phase_begin's size.
uint64_t open_range(Recorder& recorder, uint64_t handle, Range range, uint64_t detail);
// How many open ranges of the families optimizer and range are around a new one of the calling thread.
uint8_t depth_of_next(Recorder& recorder);

// Closes a range that the calling thread opened; false: it has none of this handle.
bool close_range(Recorder& recorder, uint64_t handle);
// Closes a range of whatever thread.
void close_range_anywhere(Recorder& recorder, uint64_t handle);
// Closes the calling thread's innermost range that was pushed in an NVTX domain.
void close_pushed_range(Recorder& recorder, uint8_t domain);

// Whether the thread's block events were seen in a module call: only then a death can be what shows its end.
inline bool is_in_module_call(const ThreadState* state) {
    return state != nullptr && state->module_range.open;
}

// At each block event, before its ticket: opens, at a birth, and closes the range of the outermost module
// call.
void watch_module_call(Recorder& recorder, uint16_t thread, ThreadState* state, const ModuleCall& module,
                       bool born);

}  // namespace memsnap::recorder
