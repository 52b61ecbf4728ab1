// SPDX-License-Identifier: Apache-2.0
#include "slot_hooks.h"

#include <dlfcn.h>
#include <string.h>

#include "callers.h"
#include "driver_hooks.h"
#include "text.h"

// The hooks of runtime_hooks.cpp and torch_hooks.cpp, only for their addresses.
extern "C" {
#define MEMSNAP_DECLARATION(name) __attribute__((visibility("default"))) int memsnap_##name(void);
MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_DECLARATION)
#undef MEMSNAP_DECLARATION
}

namespace memsnap::recorder {

#define MEMSNAP_DECLARATION(name) void* lookup_hook_of_##name();
MEMSNAP_LOOKUP_FUNCTIONS(MEMSNAP_DECLARATION)
#undef MEMSNAP_DECLARATION
#define MEMSNAP_DECLARATION(name) void* torch_hook_of_##name();
MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_DECLARATION)
#undef MEMSNAP_DECLARATION

namespace {

void* hook_of(Function function) {
    switch (function) {
#define MEMSNAP_CASE(name) \
    case Function::name:   \
        return reinterpret_cast<void*>(&memsnap_##name);
        MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_CASE)
#undef MEMSNAP_CASE
#define MEMSNAP_CASE(name) \
    case Function::name:   \
        return torch_hook_of_##name();
        MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_CASE)
#undef MEMSNAP_CASE
#define MEMSNAP_CASE(name) \
    case Function::name:   \
        return lookup_hook_of_##name();
        MEMSNAP_LOOKUP_FUNCTIONS(MEMSNAP_CASE)
#undef MEMSNAP_CASE
        case Function::count:
            break;
    }
    return nullptr;
}

bool is_ending(const char* name) {
    for (const char* deed :
         {"Free", "Destroy", "Unmap", "Release", "Unregister", "Close", "Reset", "Unbind"}) {
        if (strstr(name, deed) != nullptr) return true;
    }
    return false;
}

// A process has hundreds of thousands of references, most of them to none of the names.
bool may_be_hooked(const char* name) {
    return (name[0] == 'c' && name[1] == 'u') || (name[0] == 'd' && name[1] == 'l') ||
           (name[0] == '_' && starts_with(name, "_ZN3c1027report"));
}

}  // namespace

SlotHook hook_named(const char* name) {
    if (!may_be_hooked(name)) return {};
    if (equal(name, "dlsym")) return {reinterpret_cast<void*>(&dlsym), Function::count, false};
    if (equal(name, "dlclose")) return {reinterpret_cast<void*>(&dlclose), Function::count, false};
    Function function = function_named(name);
    if (function != Function::count) return {hook_of(function), function, is_ending(name)};
    return hook_of_entry_point(name);
}

SlotHook hook_of_entry_point(const char* name) {
    return {wrapper_named(name), Function::count, is_ending(name)};
}

}  // namespace memsnap::recorder
