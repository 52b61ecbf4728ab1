// SPDX-License-Identifier: Apache-2.0
//
// The interpreter of this process as the walk knows it: found once, verified once. The rule: layout and api
// are written before the state says that they may be used, and never again; a forked child has the same
// interpreter and keeps them.
#pragma once

#include "process.h"
#include "python_api.h"
#include "python_frames.h"
#include "python_layout.h"

namespace memsnap::recorder {

struct PythonInterpreter {
    std::atomic<wire::PythonStacks> state;
    std::atomic<uint32_t> version;
    PythonApi api;
    PythonLayout layout;
};
extern PythonInterpreter g_python;

inline bool is_python_walked() {
    return g_python.state.load(std::memory_order_acquire) == wire::PythonStacks::walking;
}

// 0: nothing to walk. A thread that Python has never seen has no state, and while the interpreter ends it
// takes away those of others.
inline uintptr_t own_thread_state() {
    if (!is_python_walked() || g_python.api.is_finalizing() != 0) return 0;
    return reinterpret_cast<uintptr_t>(g_python.api.own_thread_state());
}

// Writes what is known of the interpreter into the header of this process's recording.
void show_python(Recorder& recorder);

}  // namespace memsnap::recorder
