// SPDX-License-Identifier: Apache-2.0
//
// The texts of code objects and classes. The rule: read only while the calling thread executes them, which
// keeps them and what they refer to alive and unchanged.
#include <string.h>

#include "module_calls.h"
#include "python_frames.h"
#include "python_interpreter.h"
#include "python_text.h"
#include "wire_names.h"

namespace memsnap::recorder {
namespace {

constexpr size_t kFileName_bytes = 1023;
constexpr size_t kName_bytes = 511;
constexpr size_t kLongestClassName_bytes = 4096;
constexpr size_t kPayload_bytes = UINT16_MAX;

// A table that does not fit is told by one byte of 0, which none of the formats has as a whole table.
size_t write_line_table(uintptr_t bytes, unsigned char* target, size_t capacity_bytes) {
    OwnMemory memory;
    auto size_bytes = memory.at<uint64_t>(bytes + kBytesLength);
    if (size_bytes <= capacity_bytes) {
        memory.read(bytes + kBytesData, target, size_bytes);
        return size_bytes;
    }
    *target = 0;
    return 1;
}

}  // namespace

size_t describe_code(const void* code, unsigned char* payload, size_t capacity_bytes) {
    if (!is_python_walked() || code == nullptr) return 0;
    if (capacity_bytes > kPayload_bytes) capacity_bytes = kPayload_bytes;
    constexpr size_t kSmallest_bytes = sizeof(wire::CodeEntry) + kFileName_bytes + kName_bytes + 1;
    if (capacity_bytes < kSmallest_bytes) return 0;
    const PythonLayout layout = g_python.layout;
    OwnMemory memory;
    auto at = reinterpret_cast<uintptr_t>(code);
    wire::CodeEntry entry{};
    unsigned char* end = payload + sizeof entry;
    unsigned char* file_name = end;
    end += write_text(layout, memory, memory.at<uintptr_t>(at + layout.code_file_name), end, kFileName_bytes);
    unsigned char* name = end;
    end += write_text(layout, memory, memory.at<uintptr_t>(at + layout.code_name), end, kName_bytes);
    size_t left_bytes = capacity_bytes - static_cast<size_t>(end - payload);
    size_t table_bytes = write_line_table(memory.at<uintptr_t>(at + layout.code_line_table), end, left_bytes);
    entry.first_line = memory.at<uint32_t>(at + layout.code_first_line);
    entry.python_version = layout.version;
    entry.file_name_bytes = static_cast<uint16_t>(name - file_name);
    entry.name_bytes = static_cast<uint16_t>(end - name);
    entry.line_table_bytes = static_cast<uint16_t>(table_bytes);
    memcpy(payload, &entry, sizeof entry);
    learn_module_code(code, reinterpret_cast<const char*>(file_name), entry.file_name_bytes,
                      reinterpret_cast<const char*>(name), entry.name_bytes);
    return static_cast<size_t>(end - payload) + table_bytes;
}

size_t class_name_of(const void* module, char* name, size_t capacity_bytes) {
    if (!is_python_walked() || module == nullptr) return 0;
    OwnMemory memory;
    auto type = memory.at<uintptr_t>(reinterpret_cast<uintptr_t>(module) + kObjectType);
    const auto* text = reinterpret_cast<const char*>(memory.at<uintptr_t>(type + kTypeName));
    if (text == nullptr) return 0;
    size_t size_bytes = strnlen(text, kLongestClassName_bytes);
    for (size_t i = size_bytes; i != 0; --i) {
        if (text[i - 1] != '.') continue;
        text += i;
        size_bytes -= i;
        break;
    }
    size_bytes = whole_characters(text, size_bytes, capacity_bytes);
    memcpy(name, text, size_bytes);
    return size_bytes;
}

}  // namespace memsnap::recorder
