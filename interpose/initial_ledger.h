// SPDX-License-Identifier: Apache-2.0
//
// What the process held before the recorder came, as PyTorch's own memory_snapshot() told it, entered into a
// recording under way. The rules: hooks first, then the list, then each object at whose address nothing has
// happened since; what a hook under way ended meanwhile is ended again behind it. So the live table equals
// the truth when end_initial returns.
#pragma once

#include "initial_objects.h"

namespace memsnap::recorder {

// Before the list is taken. False: nothing is recorded, or there is no memory.
bool begin_initial();
// One object of the list; `told` is a number of Told. Not known ones are left out.
void add_initial(uint32_t told, int32_t device, uint64_t address, uint64_t size_bytes);
// Enters them; how many. Takes a moment longer than hooks under way may need.
uint32_t end_initial();

}  // namespace memsnap::recorder
