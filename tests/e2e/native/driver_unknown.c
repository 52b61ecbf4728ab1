// SPDX-License-Identifier: Apache-2.0
//
// What the recorder has never seen is passed on and counted; results at exit are no failures.
#include "driver.h"

int main(void) {
    start_on(0);
    CUdeviceptr pointer = 0;
    OK(DRIVER(cuMemAlloc_v2)(&pointer, kMebibyte));
    EXPECT(CUDA_ERROR_INVALID_VALUE, DRIVER(cuMemFree_v2)(0xdead000));
    EXPECT(CUDA_ERROR_INVALID_VALUE, DRIVER(cuMemFreeAsync)(0xdead000, NULL));
    EXPECT(CUDA_ERROR_INVALID_VALUE, DRIVER(cuMemRelease)(0xdead));
    OK(DRIVER(cuMemFree_v2)(0));
    int (*poison)(int, int) = (int (*)(int, int))driver_function("simcuda_poison_context");
    poison(0, CUDA_ERROR_DEINITIALIZED);  // as at exit
    EXPECT(CUDA_ERROR_DEINITIALIZED, DRIVER(cuMemFree_v2)(pointer));
    EXPECT(CUDA_ERROR_DEINITIALIZED, DRIVER(cuMemAlloc_v2)(&pointer, kMebibyte));
    return 0;
}
