// SPDX-License-Identifier: Apache-2.0
//
// Samples of the devices that this process uses: what is free, what we hold of it and what others hold, from
// NVML, a set a device and period, and one more soon after a boundary. The rules: the side thread alone
// samples; no context is created for it; a sample is taken at a quiet moment (quiet.h), so that its place in
// the ring fits its numbers, and only a process that is never quiet gets one taken in the middle of its
// calls, which may then be off by what those calls take.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// To be called when the side thread starts: nothing is known yet in this process.
void reset_sampler();

// After a boundary: one more sample of each device, unless the last one is recent. Bounded work; at most one
// system call for each such sample.
void ask_for_sample(Recorder& recorder);

// Takes the samples that are due. Returns when the next one is, by CLOCK_MONOTONIC.
uint64_t take_due_samples(Recorder& recorder);

}  // namespace memsnap::recorder
