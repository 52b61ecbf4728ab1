// SPDX-License-Identifier: Apache-2.0
//
// What a witness leaves in shared memory for the test to read after the kill: how many operations of each
// thread were complete, that is, had returned from the hooked call. A file of the size of this structure,
// mapped by both.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    kWitnessThreads = 64
};

struct WitnessThread {
    _Atomic uint64_t tid;
    _Atomic uint64_t block_reports;
    _Atomic uint64_t last_size_bytes;  // of the last reported block; negative sizes as positive
    _Atomic uint64_t device_allocations;
    _Atomic uint64_t device_frees;
    uint64_t unused[3];
};

struct WitnessPage {
    _Atomic uint64_t pid;
    _Atomic uint64_t thread_count;
    uint64_t unused[6];
    struct WitnessThread threads[kWitnessThreads];
};
