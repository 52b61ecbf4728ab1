// SPDX-License-Identifier: Apache-2.0
//
// Faults in ring pages before writers reach them. A writer's first touch of a page costs it a page fault
// under the allocator's lock; on kernels that cannot populate it stays that way. The rule: the side thread
// alone.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// The pages of the tickets that come next, `head` being the next one.
void prepare_ring(Recorder& recorder, wire::Record* slots, uint64_t head);

bool in_first_lap(const Recorder& recorder);

}  // namespace memsnap::recorder
