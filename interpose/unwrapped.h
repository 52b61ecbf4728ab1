// SPDX-License-Identifier: Apache-2.0
//
// Driver entry points that a program was given as they are although their names tell of memory: newer than
// this recorder, most likely. The rules: a name tells what a call is likely to do, never what it did, so it
// only makes a `blind` record; resolvers run before there is a ring and only leave a mark; once a name.
#pragma once

#include <cstdint>

#include "process.h"

namespace memsnap::recorder {

// Whether a driver's entry point of that name, base name or exported one, may take memory.
bool may_take_memory(const char* name);

// In a resolver: the library got the driver's own pointer for `name`.
void note_unwrapped(const char* name, uint16_t library);

// Records what was noted; `recorded` of it is in the ring already. Returns how much is now.
uint32_t record_unwrapped(Recorder& recorder, uint32_t recorded);

}  // namespace memsnap::recorder
