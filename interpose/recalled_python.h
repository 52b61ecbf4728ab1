// SPDX-License-Identifier: Apache-2.0
//
// A walk over Python frames that need not be done again while it would come out the same. The rules: it is
// recalled only when every word that the walk's outcome depends on says what it said, each frame is reached
// through the one inside it, and no code object has died; so nothing is read that a walk would not read.
// Which module is called is read anew each time: a loop calls many from one place.
#pragma once

#include "python_frames.h"
#include "python_layout.h"

namespace memsnap::recorder {

// Also of what a walk leaves out.
struct RecalledFrame {
    uintptr_t frame;
    uint64_t code;
    uint64_t instruction;
    uint64_t marks;  // what decides whether it counts as a frame
};

struct RecalledPython {
    static constexpr uint32_t kCapacity = 96;

    uint32_t count;
    uint32_t module_codes;  // how many were known
    uint64_t code_deaths;
    uintptr_t module_frame;  // 0: no module is called
    PythonFrame module_caller;
    RecalledFrame frames[kCapacity];
};

// Differs between most sites.
uint64_t python_key(uintptr_t innermost);
// False when it cannot be recalled.
bool remember_python(uintptr_t innermost, const PythonStack& stack, RecalledPython& walk);
// Whether a walk from there would come out the same; then also the outermost module call.
bool is_same_python(uintptr_t innermost, const RecalledPython& walk, ModuleCall& module);

}  // namespace memsnap::recorder
