// SPDX-License-Identifier: Apache-2.0
#include "python_api.h"

#include <string.h>

#include "elf_lookup.h"
#include "text.h"

namespace memsnap::recorder {
namespace {

template <typename Function>
bool find(Function*& slot, const char* name, const char* other_name = nullptr) {
    void* found = find_symbol(name);
    if (found == nullptr && other_name != nullptr) found = find_symbol(other_name);
    slot = reinterpret_cast<Function*>(found);
    return found != nullptr;
}

bool find_type(PyObject*& slot, const char* name) {
    slot = find_data(name);
    return slot != nullptr;
}

}  // namespace

ApiSearch find_python_api(PythonApi& api) {
    if (!find(api.version, "Py_GetVersion")) return ApiSearch::absent;
    api.runtime = find_data("_PyRuntime");
    find(api.disable_collection, "PyGC_Disable");
    find(api.enable_collection, "PyGC_Enable");
    bool whole =
        find(api.is_initialized, "Py_IsInitialized") &&
        find(api.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing") &&
        find(api.own_thread_state, "PyGILState_GetThisThreadState") &&
        find(api.unchecked_thread_state, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
        find(api.add_pending_call, "Py_AddPendingCall") &&
        find(api.current_thread_state, "PyThreadState_Get") && find(api.current_frame, "PyEval_GetFrame") &&
        find(api.frame_back, "PyFrame_GetBack") && find(api.frame_code, "PyFrame_GetCode") &&
        find(api.attribute, "PyObject_GetAttrString") && find(api.as_long, "PyLong_AsLong") &&
        find(api.as_utf8, "PyUnicode_AsUTF8String") && find(api.new_text, "PyUnicode_FromStringAndSize") &&
        find(api.new_dict, "PyDict_New") && find(api.bytes_data, "PyBytes_AsString") &&
        find(api.bytes_size, "PyBytes_Size") && find(api.fetch_error, "PyErr_Fetch") &&
        find(api.restore_error, "PyErr_Restore") && find(api.clear_error, "PyErr_Clear") &&
        find(api.increment, "Py_IncRef") && find(api.decrement, "Py_DecRef") &&
        find_type(api.code_type, "PyCode_Type") && find_type(api.cell_type, "PyCell_Type") &&
        find_type(api.dict_type, "PyDict_Type") && find_type(api.type_type, "PyType_Type");
    return whole ? ApiSearch::found : ApiSearch::incomplete;
}

uint32_t parse_python_version(const char* text) {
    uint64_t parts[3] = {};
    for (uint64_t& part : parts) {
        if (!read_number(text, part)) return 0;
        if (*text == '.') ++text;
    }
    if (parts[0] > 99 || parts[1] > 99 || parts[2] > 99) return 0;
    return static_cast<uint32_t>(parts[0] * 10000 + parts[1] * 100 + parts[2]);
}

bool is_free_threaded(const char* version_text) {
    return strstr(version_text, "free-threading") != nullptr;
}

}  // namespace memsnap::recorder
