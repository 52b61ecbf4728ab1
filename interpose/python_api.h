// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's functions and types that are asked while its layout is verified, found by name, since
// this library knows no Python. The rule: all of them or none. Everything but the first group needs the GIL.
#pragma once

#include <cstdint>

namespace memsnap::recorder {

using PyObject = void;

struct PythonApi {
    // Any thread, at any time while the interpreter lives.
    const char* (*version)() = nullptr;
    int (*is_initialized)() = nullptr;
    int (*is_finalizing)() = nullptr;
    void* (*own_thread_state)() = nullptr;  // of the calling thread, null where it never ran Python
    void* (*unchecked_thread_state)() =
        nullptr;  // of the thread that holds the GIL, or the own one if it does
    int (*add_pending_call)(int (*)(void*), void*) = nullptr;
    const void* runtime = nullptr;  // null: not exported

    void* (*current_thread_state)() = nullptr;
    PyObject* (*current_frame)() = nullptr;  // borrowed
    PyObject* (*frame_back)(PyObject*) = nullptr;
    PyObject* (*frame_code)(PyObject*) = nullptr;
    PyObject* (*attribute)(PyObject*, const char*) = nullptr;
    long (*as_long)(PyObject*) = nullptr;
    PyObject* (*as_utf8)(PyObject*) = nullptr;
    PyObject* (*new_text)(const char*, long) = nullptr;
    PyObject* (*new_dict)() = nullptr;
    char* (*bytes_data)(PyObject*) = nullptr;
    long (*bytes_size)(PyObject*) = nullptr;
    void (*fetch_error)(PyObject**, PyObject**, PyObject**) = nullptr;
    void (*restore_error)(PyObject*, PyObject*, PyObject*) = nullptr;
    void (*clear_error)() = nullptr;
    int (*disable_collection)() = nullptr;  // this and the next: null before 3.10
    int (*enable_collection)() = nullptr;
    void (*increment)(PyObject*) = nullptr;
    void (*decrement)(PyObject*) = nullptr;
    PyObject* code_type = nullptr;
    PyObject* cell_type = nullptr;
    PyObject* dict_type = nullptr;
    PyObject* type_type = nullptr;
};

enum class ApiSearch : uint8_t {
    found,
    absent,     // no interpreter is loaded
    incomplete  // one that lacks a function
};
ApiSearch find_python_api(PythonApi& api);

// major * 10000 + minor * 100 + patch of a text such as "3.11.7 (main, …"; 0: not understood.
uint32_t parse_python_version(const char* text);
// Builds without a GIL say so there.
bool is_free_threaded(const char* version_text);

}  // namespace memsnap::recorder
