// SPDX-License-Identifier: Apache-2.0
#include "python_frames.h"

#include "code_generations.h"
#include "module_calls.h"
#include "python_interpreter.h"

namespace memsnap::recorder {

void walk_python(uint32_t depth, PythonStack& stack) {
    stack.count = 0;
    stack.cut = false;
    stack.outermost_module = ModuleCall{};
    uintptr_t thread_state = own_thread_state();
    if (thread_state == 0) return;
    if (depth > kMaxFrames) depth = kMaxFrames;
    const PythonLayout layout = g_python.layout;
    OwnMemory memory;
    OutermostModule outermost;
    uint32_t count = 0;
    bool cut = false;
    for_each_frame(layout, memory, thread_state, [&](WalkedFrame walked) {
        if (count < depth) {
            stack.frames[count++] = PythonFrame{reinterpret_cast<const void*>(walked.code),
                                                walked.instruction, code_generation(walked.code)};
        } else {
            cut = true;
        }
        if (outermost.is_looking()) {
            outermost.see(layout, walked);
            return true;
        }
        return !cut;
    });
    stack.count = count;
    stack.cut = cut;
    stack.outermost_module = outermost.get();
}

ModuleCall outermost_module_call() {
    if (!is_any_module_code_known()) return {};
    uintptr_t thread_state = own_thread_state();
    if (thread_state == 0) return {};
    const PythonLayout layout = g_python.layout;
    OwnMemory memory;
    OutermostModule outermost;
    if (!outermost.is_looking()) return {};
    for_each_frame(layout, memory, thread_state, [&](WalkedFrame walked) {
        outermost.see(layout, walked);
        return true;
    });
    return outermost.get();
}

}  // namespace memsnap::recorder
