// SPDX-License-Identifier: Apache-2.0
//
// Built against the headers of an interpreter: where it keeps what the recorder's walk reads, as a JSON list
// in the order of python_probe.cpp. What a version does not have is 0.
#define Py_BUILD_CORE 1
#include <Python.h>

#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#endif

#if PY_VERSION_HEX < 0x030b0000
#define FRAME(old_name, name, new_name) offsetof(PyFrameObject, old_name)
#define CODE(old_name, name) offsetof(PyCodeObject, old_name)
#define ONLY_NEW(type, name) (size_t)0
#else
#if PY_VERSION_HEX < 0x030d0000
#define FRAME(old_name, name, new_name) offsetof(_PyInterpreterFrame, name)
#else
#define FRAME(old_name, name, new_name) offsetof(_PyInterpreterFrame, new_name)
#endif
#define CODE(old_name, name) offsetof(PyCodeObject, name)
#define ONLY_NEW(type, name) offsetof(type, name)
#endif

int main(void) {
    size_t thread_frame, cframe_frame = 0, is_entry = 0;
#if PY_VERSION_HEX < 0x030b0000
    thread_frame = offsetof(PyThreadState, frame);
#elif PY_VERSION_HEX < 0x030d0000
    thread_frame = offsetof(PyThreadState, cframe);
    cframe_frame = offsetof(_PyCFrame, current_frame);
#else
    thread_frame = offsetof(PyThreadState, current_frame);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
    is_entry = offsetof(_PyInterpreterFrame, is_entry);
#endif
#if PY_VERSION_HEX < 0x030a0000
    size_t line_table = offsetof(PyCodeObject, co_lnotab);
#else
    size_t line_table = offsetof(PyCodeObject, co_linetable);
#endif
    const size_t offsets[] = {
        thread_frame,
        FRAME(f_code, f_code, f_executable),
        FRAME(f_back, previous, previous),
        FRAME(f_lasti, prev_instr, instr_ptr),
        offsetof(PyCodeObject, co_filename),
        CODE(co_name, co_qualname),
        offsetof(PyCodeObject, co_firstlineno),
        line_table,
        offsetof(PyASCIIObject, length),
        offsetof(PyASCIIObject, state),
        sizeof(PyASCIIObject),
        sizeof(PyCompactUnicodeObject),
        ONLY_NEW(PyCodeObject, co_code_adaptive),
        cframe_frame,
        FRAME(f_localsplus, localsplus, localsplus),
        ONLY_NEW(_PyInterpreterFrame, owner),
        is_entry,
        ONLY_NEW(PyCodeObject, _co_firsttraceable),
    };
    const size_t count = sizeof offsets / sizeof offsets[0];
    for (size_t i = 0; i < count; ++i) {
        printf("%s%zu", i == 0 ? "[" : ", ", offsets[i]);
    }
    printf("]\n");
    return 0;
}
