// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver's entry points that are handed out as our wrappers. The rule: a wrapper replaces a pointer
// only where the driver itself gave exactly the original's address; names, versions and flags are never
// interpreted, so a caller always gets the binary interface it asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memsnap::recorder {

// Whether `name` is the exported name of a wrapped entry point.
bool is_wrapped(const char* name);

// Finds the originals of all wrapped entry points in the library behind `handle`, the first time one is seen.
void learn_driver(void* handle);

// The name of the wrapped entry point at that address, and the wrapper that stands for a name; null: none.
const char* name_of_entry_point(const void* address);
void* wrapper_named(const char* name);
// The lowest and highest address of a wrapped entry point that is known.
struct EntryPoints {
    uintptr_t first = 0;
    uintptr_t last = 0;
};
EntryPoints known_entry_points();

// What the caller gets for an entry point of the driver that it asked for by `name`: the wrapper, which is
// counted, or `entry_point` itself, which is noted when it may take memory.
void* hand_out(const char* name, void* entry_point, const void* return_address);

}  // namespace memsnap::recorder
