// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver's entry points that are handed out as our wrappers. The rule: a wrapper replaces a pointer
// only where the driver itself gave exactly the original's address; names, versions and flags are never
// interpreted, so a caller always gets the binary interface it asked for.
#pragma once

#include <cstddef>

namespace memsnap::recorder {

// Whether `name` is the exported name of a wrapped entry point.
bool is_wrapped(const char* name);

// Finds the originals of all wrapped entry points in the library behind `handle`, the first time one is seen.
void learn_driver(void* handle);

// What the caller gets for an entry point of the driver that it asked for by `name`: the wrapper, which is
// counted, or `entry_point` itself, which is noted when it may take memory.
void* hand_out(const char* name, void* entry_point, const void* return_address);

}  // namespace memsnap::recorder
