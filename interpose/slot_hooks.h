// SPDX-License-Identifier: Apache-2.0
//
// Which of our functions a slot of another library is put to when the recorder comes into a running process.
// The rule: what ends objects has its slots put first and given back last, lest something that was seen to
// begin is never seen to end.
#pragma once

#include "hooked_functions.h"

namespace memsnap::recorder {

struct SlotHook {
    void* hook = nullptr;  // null: the name is of no interest
    // Function::count: the driver's, dlsym or dlclose, whose originals are known by themselves.
    Function function = Function::count;
    bool ends_objects = false;
};

// Of a reference to that name.
SlotHook hook_named(const char* name);

// Of a pointer to the driver's entry point of that name.
SlotHook hook_of_entry_point(const char* name);

}  // namespace memsnap::recorder
