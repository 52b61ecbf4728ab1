// SPDX-License-Identifier: Apache-2.0
//
// The Python frames of the calling thread, read without the GIL and without calling the interpreter. The
// rules: nothing is written and no reference is taken; only the calling thread's own frames, which stand
// still while it is in our code; no frame is read before the walk has been compared with the interpreter's
// own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire.h"

namespace memsnap::recorder {

inline constexpr uint32_t kMaxFrames = 128;

struct PythonFrame {
    const void* code;
    uint32_t instruction;  // offset in bytes of the last instruction
    uint32_t generation;   // of the code object's address: code objects are freed and their memory used again
};

// A call of an nn.Module.
struct ModuleCall {
    const void* frame;  // null: there is none
    const void* module;
    PythonFrame caller;  // where it is called; code null: by no Python code
    // Differs between two calls whose frames lie at one address, as those of a loop do; 0: not known.
    uint64_t activation;
};

struct PythonStack {
    uint32_t count = 0;
    bool cut = false;                // there were more than asked for
    PythonFrame frames[kMaxFrames];  // innermost first
    ModuleCall outermost_module{};
    bool has_unread_module = false;  // a module is called whose object could not be read
};

// Looks for an interpreter until there is one. For an allocator's hook: takes no lock of the interpreter's.
void find_python();
// The same, and if it is one whose layout is known, asks it to have the walk verified at its main thread's
// next safe point.
void look_for_python();
// The same where the driver starts, and no lock of an allocator is held: a thread that holds the GIL there
// verifies it itself, since the main thread may be waiting for that thread to end. Not in 3.9, where nothing
// keeps a collection, and with it code of the program, from running in the middle of that.
void look_for_python_at_start();
wire::PythonStacks python_stacks();
uint32_t python_version();  // major * 10000 + minor * 100 + patch, 0: none seen

// Empty until verified, and on threads without Python frames. At most `depth` frames are kept; the outermost
// module call is found beyond them.
void walk_python(uint32_t depth, PythonStack& stack);
// The same in two steps. A frame of 0: there is nothing to walk.
uintptr_t innermost_python_frame();
void walk_python_from(uintptr_t innermost, uint32_t depth, PythonStack& stack);
// The same without frames.
ModuleCall outermost_module_call();

// The payload of a wire::NameKind::code entry for the code object of a frame that is being executed by the
// calling thread; 0 when it does not fit or cannot be read. Also learns whether it is the code that calls
// modules.
size_t describe_code(const void* code, unsigned char* payload, size_t capacity_bytes);
// The class of a module that the calling thread is calling, as UTF-8; 0 when it cannot be read.
size_t class_name_of(const void* module, char* name, size_t capacity_bytes);

}  // namespace memsnap::recorder
