// SPDX-License-Identifier: Apache-2.0
//
// Where CPython keeps what a walk reads: offsets in bytes into its thread states, frames, code objects and
// strings, on 64-bit builds with a GIL. The rule: a version that is not listed here, or that describes itself
// in another way than expected, has no layout; and no layout is used before python_check.h has compared it
// with the running interpreter.
#pragma once

#include <cstdint>

namespace memsnap::recorder {

struct PythonLayout {
    uint16_t version;  // major << 8 | minor

    uint16_t thread_frame;  // in the thread state: the innermost frame, or what points to it
    bool has_cframe;        // 3.11 and 3.12: it is in another structure, at cframe_frame
    uint16_t cframe_frame;

    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_locals;
    // How a frame tells its last instruction: as a number of units (up to 3.10), or as an address in the
    // code.
    bool counts_instructions;
    uint8_t instruction_unit_bytes;
    uint16_t frame_instruction;
    uint16_t frame_owner;     // 0: frames have none
    uint16_t frame_is_entry;  // in 3.11: entered from C; later such a frame lies on one of the interpreter's

    uint16_t code_file_name;
    uint16_t code_name;  // the qualified one from 3.11 on
    uint16_t code_first_line;
    uint16_t code_line_table;
    uint16_t code_instructions;     // from 3.11 on
    uint16_t code_first_traceable;  // index of the first instruction that a frame is complete from

    uint16_t dict_version;  // a number that no two dicts have had; 0: they have none

    uint16_t text_length;
    uint16_t text_state;
    uint16_t ascii_characters;  // of a text of ASCII characters alone
    uint16_t other_characters;
};

// What all versions share.
inline constexpr uint16_t kObjectType = 8;
inline constexpr uint16_t kTypeName = 24;
inline constexpr uint16_t kTypeDealloc = 48;
inline constexpr uint16_t kCellContents = 16;
inline constexpr uint16_t kBytesLength = 16;
inline constexpr uint16_t kBytesData = 32;

// Values of a frame's owner.
inline constexpr uint8_t kOwnedByGenerator = 1;
inline constexpr uint8_t kOwnedByInterpreter = 3;  // and above: no Python function's frame

enum class LayoutSearch : uint8_t {
    found,
    unknown,   // another version, or one that describes itself in another way
    threaded,  // a build without GIL
};

// The layout of version major * 10000 + minor * 100 + patch. From 3.13 on it is read from the description
// that `runtime`, the interpreter's _PyRuntime, begins with (null: there is none).
LayoutSearch find_python_layout(uint32_t version, const void* runtime, PythonLayout& layout);

}  // namespace memsnap::recorder
