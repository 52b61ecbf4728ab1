// SPDX-License-Identifier: Apache-2.0
#include "python_frames.h"

#include "code_generations.h"
#include "module_calls.h"
#include "python_interpreter.h"

namespace memsnap::recorder {

uintptr_t innermost_python_frame() {
    uintptr_t thread_state = own_thread_state();
    OwnMemory memory;
    return thread_state == 0 ? 0 : innermost_frame(g_python.layout, memory, thread_state);
}

void walk_python(uint32_t depth, PythonStack& stack) {
    walk_python_from(innermost_python_frame(), depth, stack);
}

void walk_python_from(uintptr_t innermost, uint32_t depth, PythonStack& stack) {
    stack.count = 0;
    stack.cut = false;
    stack.outermost_module = ModuleCall{};
    stack.has_unread_module = false;
    if (innermost == 0) return;
    if (depth > kMaxFrames) depth = kMaxFrames;
    const PythonLayout layout = g_python.layout;
    OwnMemory memory;
    OutermostModule outermost;
    uint32_t count = 0;
    bool cut = false;
    for_each_frame(layout, memory, innermost, [&](WalkedFrame walked) {
        if (count < depth) {
            stack.frames[count++] = PythonFrame{reinterpret_cast<const void*>(walked.code),
                                                walked.instruction, code_generation(walked.code)};
        } else {
            cut = true;
        }
        if (outermost.is_looking()) {
            outermost.see(walked);
            return true;
        }
        return !cut;
    });
    stack.count = count;
    stack.cut = cut;
    stack.outermost_module = outermost.get();
    stack.has_unread_module = outermost.has_unread();
}

ModuleCall outermost_module_call() {
    if (known_module_codes() == 0) return {};
    uintptr_t innermost = innermost_python_frame();
    if (innermost == 0) return {};
    const PythonLayout layout = g_python.layout;
    OwnMemory memory;
    OutermostModule outermost;
    if (!outermost.is_looking()) return {};
    for_each_frame(layout, memory, innermost, [&](WalkedFrame walked) {
        outermost.see(walked);
        return true;
    });
    return outermost.get();
}

}  // namespace memsnap::recorder
