// SPDX-License-Identifier: Apache-2.0
// What libcuda.so.1 exports beyond CUDA: knobs for tests. All answer 0 when done and a CUresult otherwise.
// Rule: a device here is the session's device, whatever CUDA_VISIBLE_DEVICES says, but for
// simcuda_poison_context.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Others hold `bytes` of the device from now on. Refused when more than what this session's processes left
// free.
int simcuda_set_external_bytes(int device, uint64_t bytes);

// Of the next `attempts` allocations, those of at least `min_bytes` fail with out of memory, whatever is
// free.
int simcuda_refuse(int device, uint64_t attempts, uint64_t min_bytes);

// In this process: work on side streams stays unfinished until somebody synchronises with it (nonzero), or
// not (0).
int simcuda_set_pending_events(int pending);

// In this process: every call in the device's primary context fails with `error` until the device is reset.
int simcuda_poison_context(int device, int error);

#ifdef __cplusplus
}
#endif
