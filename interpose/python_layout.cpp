// SPDX-License-Identifier: Apache-2.0
#include "python_layout.h"

#include <string.h>

namespace memsnap::recorder {
namespace {

constexpr uint16_t kDictVersion = 24;

constexpr PythonLayout kLayouts[] = {
    {
        .version = 0x0309,
        .thread_frame = 24,
        .has_cframe = false,
        .cframe_frame = 0,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_locals = 360,
        .counts_instructions = true,
        .instruction_unit_bytes = 1,
        .frame_instruction = 104,
        .frame_owner = 0,
        .frame_is_entry = 0,
        .code_file_name = 104,
        .code_name = 112,
        .code_first_line = 40,
        .code_line_table = 120,
        .code_instructions = 0,
        .code_first_traceable = 0,
        .dict_version = kDictVersion,
        .text_length = 16,
        .text_state = 32,
        .ascii_characters = 48,
        .other_characters = 72,
    },
    {
        .version = 0x030a,
        .thread_frame = 24,
        .has_cframe = false,
        .cframe_frame = 0,
        .frame_code = 32,
        .frame_previous = 24,
        .frame_locals = 352,
        .counts_instructions = true,
        .instruction_unit_bytes = 2,
        .frame_instruction = 96,
        .frame_owner = 0,
        .frame_is_entry = 0,
        .code_file_name = 104,
        .code_name = 112,
        .code_first_line = 40,
        .code_line_table = 120,
        .code_instructions = 0,
        .code_first_traceable = 0,
        .dict_version = kDictVersion,
        .text_length = 16,
        .text_state = 32,
        .ascii_characters = 48,
        .other_characters = 72,
    },
    {
        .version = 0x030b,
        .thread_frame = 56,
        .has_cframe = true,
        .cframe_frame = 8,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_locals = 72,
        .counts_instructions = false,
        .instruction_unit_bytes = 2,
        .frame_instruction = 56,
        .frame_owner = 69,
        .frame_is_entry = 68,
        .code_file_name = 112,
        .code_name = 128,
        .code_first_line = 72,
        .code_line_table = 136,
        .code_instructions = 184,
        .code_first_traceable = 168,
        .dict_version = kDictVersion,
        .text_length = 16,
        .text_state = 32,
        .ascii_characters = 48,
        .other_characters = 72,
    },
    {
        .version = 0x030c,
        .thread_frame = 56,
        .has_cframe = true,
        .cframe_frame = 0,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_locals = 72,
        .counts_instructions = false,
        .instruction_unit_bytes = 2,
        .frame_instruction = 56,
        .frame_owner = 70,
        .frame_is_entry = 0,
        .code_file_name = 112,
        .code_name = 128,
        .code_first_line = 68,
        .code_line_table = 136,
        .code_instructions = 192,
        .code_first_traceable = 176,
        .dict_version = kDictVersion,
        .text_length = 16,
        .text_state = 32,
        .ascii_characters = 40,
        .other_characters = 56,
    },
};

// Between the first traceable instruction's index and the instructions lie padding and one pointer.
constexpr uint16_t kFromFirstTraceable = 16;
// The part of PyCompactUnicodeObject that an ASCII text lacks.
constexpr uint16_t kCompactRest = 16;

// _Py_DebugOffsets as words of 8 bytes: cookie, version, whether free-threaded, then groups of offsets. Which
// word is what in 3.13 and 3.14, which differ in what they added between.
struct Description {
    uint16_t version;
    uint16_t dict_version;  // not described
    uint8_t thread_frame;
    uint8_t frame_previous;
    uint8_t frame_code;
    uint8_t frame_instruction;
    uint8_t frame_locals;
    uint8_t frame_owner;
    uint8_t code_file_name;
    uint8_t code_name;
    uint8_t code_line_table;
    uint8_t code_first_line;
    uint8_t code_instructions;
    uint8_t object_type;
    uint8_t type_name;
    uint8_t bytes_length;
    uint8_t bytes_data;
    uint8_t text_state;
    uint8_t text_length;
    uint8_t ascii_bytes;
};

constexpr Description kDescriptions[] = {
    {
        .version = 0x030d,
        .dict_version = kDictVersion,
        .thread_frame = 23,
        .frame_previous = 29,
        .frame_code = 30,
        .frame_instruction = 31,
        .frame_locals = 32,
        .frame_owner = 33,
        .code_file_name = 35,
        .code_name = 37,
        .code_line_table = 38,
        .code_first_line = 39,
        .code_instructions = 43,
        .object_type = 45,
        .type_name = 47,
        .bytes_length = 65,
        .bytes_data = 66,
        .text_state = 68,
        .text_length = 69,
        .ascii_bytes = 70,
    },
    {
        .version = 0x030e,
        .dict_version = 0,
        .thread_frame = 26,
        .frame_previous = 32,
        .frame_code = 33,
        .frame_instruction = 34,
        .frame_locals = 35,
        .frame_owner = 36,
        .code_file_name = 40,
        .code_name = 42,
        .code_line_table = 43,
        .code_first_line = 44,
        .code_instructions = 48,
        .object_type = 51,
        .type_name = 53,
        .bytes_length = 75,
        .bytes_data = 76,
        .text_state = 78,
        .text_length = 79,
        .ascii_bytes = 80,
    },
};

constexpr char kCookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
constexpr uint64_t kLargestOffset = 4096;
constexpr uint16_t kVersionWord = 1;
constexpr uint16_t kThreadedWord = 2;

struct DescribedRuntime {
    const unsigned char* begin;
    bool plausible = true;

    uint64_t word(uint16_t index) const {
        uint64_t value = 0;
        memcpy(&value, begin + uint64_t{index} * sizeof value, sizeof value);
        return value;
    }
    uint16_t offset(uint8_t index) {
        uint64_t value = word(index);
        if (value >= kLargestOffset) plausible = false;
        return static_cast<uint16_t>(value);
    }
};

LayoutSearch read_description(const Description& words, const void* runtime, PythonLayout& layout) {
    if (runtime == nullptr || memcmp(runtime, kCookie, sizeof kCookie) != 0) return LayoutSearch::unknown;
    DescribedRuntime described{static_cast<const unsigned char*>(runtime)};
    // PY_VERSION_HEX: major, minor, patch and release level.
    if (described.word(kVersionWord) >> 16 != words.version) return LayoutSearch::unknown;
    if (described.word(kThreadedWord) != 0) return LayoutSearch::threaded;
    layout = PythonLayout{};
    layout.version = words.version;
    layout.thread_frame = described.offset(words.thread_frame);
    layout.frame_code = described.offset(words.frame_code);
    layout.frame_previous = described.offset(words.frame_previous);
    layout.frame_locals = described.offset(words.frame_locals);
    layout.instruction_unit_bytes = 2;
    layout.frame_instruction = described.offset(words.frame_instruction);
    layout.frame_owner = described.offset(words.frame_owner);
    layout.code_file_name = described.offset(words.code_file_name);
    layout.code_name = described.offset(words.code_name);
    layout.code_first_line = described.offset(words.code_first_line);
    layout.code_line_table = described.offset(words.code_line_table);
    layout.code_instructions = described.offset(words.code_instructions);
    layout.code_first_traceable = static_cast<uint16_t>(layout.code_instructions - kFromFirstTraceable);
    layout.dict_version = words.dict_version;
    layout.text_length = described.offset(words.text_length);
    layout.text_state = described.offset(words.text_state);
    layout.ascii_characters = described.offset(words.ascii_bytes);
    layout.other_characters = static_cast<uint16_t>(layout.ascii_characters + kCompactRest);
    bool as_ever = described.offset(words.object_type) == kObjectType &&
                   described.offset(words.type_name) == kTypeName &&
                   described.offset(words.bytes_length) == kBytesLength &&
                   described.offset(words.bytes_data) == kBytesData;
    bool sound = described.plausible && as_ever && layout.frame_owner != 0 &&
                 layout.code_instructions > kFromFirstTraceable;
    return sound ? LayoutSearch::found : LayoutSearch::unknown;
}

}  // namespace

LayoutSearch find_python_layout(uint32_t version, const void* runtime, PythonLayout& layout) {
    auto wanted = static_cast<uint16_t>(version / 10000 << 8 | version / 100 % 100);
    for (const PythonLayout& known : kLayouts) {
        if (known.version != wanted) continue;
        layout = known;
        return LayoutSearch::found;
    }
    for (const Description& known : kDescriptions) {
        if (known.version == wanted) return read_description(known, runtime, layout);
    }
    return LayoutSearch::unknown;
}

}  // namespace memsnap::recorder
