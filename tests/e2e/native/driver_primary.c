// SPDX-License-Identifier: Apache-2.0
//
// The primary context of a device ends with the last reference to it, of which a green context holds one, or
// by a reset; with it ends what was made in it, but not what comes from the device's pools.
#include "driver.h"

static void take(size_t bytes) {
    CUdeviceptr pointer = 0;
    void* host = NULL;
    OK(DRIVER(cuMemAlloc_v2)(&pointer, bytes));
    OK(DRIVER(cuMemAllocAsync)(&pointer, bytes, NULL));
    OK(DRIVER(cuMemHostAlloc)(&host, bytes, 0));
}

int main(void) {
    const size_t bytes = 12 * kMebibyte;
    CUcontext again = NULL;
    CUgreenCtx green = NULL;
    start_on(0);
    free_bytes();  // recording begins: a first reference alone is too early to name a file
    OK(DRIVER(cuDevicePrimaryCtxRetain)(&again, 0));
    take(bytes);                                  // + 24 MiB
    OK(DRIVER(cuDevicePrimaryCtxRelease_v2)(0));  // one reference is left
    free_bytes();
    OK(DRIVER(cuDevicePrimaryCtxRelease)(0));  // - 12 MiB
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, DRIVER(cuDevicePrimaryCtxRelease_v2)(0));

    start_on(0);
    take(bytes);                                // + 24 MiB
    OK(DRIVER(cuDevicePrimaryCtxReset_v2)(0));  // - 12 MiB
    start_on(0);
    take(bytes);                             // + 24 MiB
    OK(DRIVER(cuDevicePrimaryCtxReset)(0));  // - 12 MiB

    start_on(0);
    OK(DRIVER(cuGreenCtxCreate)(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    take(bytes);                                  // + 24 MiB
    OK(DRIVER(cuDevicePrimaryCtxRelease_v2)(0));  // the green context holds the last reference
    OK(DRIVER(cuGreenCtxDestroy)(green));         // - 12 MiB
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, DRIVER(cuGreenCtxDestroy)(green));
    return 0;
}
