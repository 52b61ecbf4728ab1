// SPDX-License-Identifier: Apache-2.0
//
// What passes by the recorder, said in the ring: every later statement about "all" of the memory is weaker by
// it.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// One `blind` record and its count. `op` is none unless a certain call passed by.
void record_blind(Recorder& recorder, wire::Blind reason, wire::Op op, uint16_t library);

}  // namespace memsnap::recorder
