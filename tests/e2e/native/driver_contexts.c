// SPDX-License-Identifier: Apache-2.0
//
// The end of a context ends what was made in it: plain, managed and page-locked memory, arrays, imports. It
// does not end what another context made, nor memory of cuMemCreate, nor what comes from the device's pools.
// Two cards.
#include <unistd.h>

#include "driver.h"

int main(void) {
    const size_t bytes = 10 * kMebibyte;
    CUcontext own[4] = {NULL};
    CUcontext elsewhere = NULL;
    CUdeviceptr kept = 0;
    CUdeviceptr pointer = 0;
    CUarray array = NULL;
    void* host = NULL;
    CUmemGenericAllocationHandle handle = 0;
    CUexternalMemory external = NULL;
    const CUmemAllocationProp properties = memory_on(0);
    const CUDA_ARRAY_DESCRIPTOR_v2 shape = {1024, 1024, CU_AD_FORMAT_FLOAT, 4};  // 16 MiB
    start_on(0);
    OK(DRIVER(cuMemAlloc_v2)(&kept, bytes));  // + 10 MiB, in the primary context

    OK(DRIVER(cuCtxCreate_v2)(&own[0], 0, 0));  // current from here on
    free_bytes();
    OK(DRIVER(cuMemAlloc_v2)(&pointer, bytes));  // + 10 MiB
    OK(DRIVER(cuMemAllocManaged)(&pointer, bytes, CU_MEM_ATTACH_GLOBAL));
    OK(DRIVER(cuMemHostAlloc)(&host, bytes, 0));
    OK(DRIVER(cuArrayCreate_v2)(&array, &shape));             // + 16 MiB
    OK(DRIVER(cuMemAllocAsync)(&pointer, bytes, NULL));       // + 10 MiB, of the device
    OK(DRIVER(cuMemCreate)(&handle, bytes, &properties, 0));  // + 10 MiB, of nobody's
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC file = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = bytes};
    file.handle.fd = dup(2);
    OK(DRIVER(cuImportExternalMemory)(&external, &file));

    // The same on the other card, by another name; it is destroyed while the first one is current.
    OK(DRIVER(cuCtxCreate_v4)(&elsewhere, NULL, 0, 1));
    OK(DRIVER(cuMemAlloc_v2)(&pointer, bytes));  // + 10 MiB on card 1
    OK(DRIVER(cuCtxSetCurrent)(own[0]));
    OK(DRIVER(cuCtxDestroy_v2)(elsewhere));  // - 10 MiB on card 1

    // A refusal ends nothing; a context that is nobody's is passed on.
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, DRIVER(cuCtxDestroy_v2)(elsewhere));
    OK(DRIVER(cuCtxDestroy)(own[0]));  // - 26 MiB
    OK(DRIVER(cuCtxCreate)(&own[1], 0, 0));
    OK(DRIVER(cuCtxCreate_v3)(&own[2], NULL, 0, 0, 0));
    OK(DRIVER(cuMemAlloc_v2)(&pointer, bytes));  // + 10 MiB
    OK(DRIVER(cuCtxDestroy_v2)(own[2]));         // - 10 MiB
    OK(DRIVER(cuCtxDestroy_v2)(own[1]));
    return 0;  // 10 MiB of the primary context, 10 MiB of the pool, 10 MiB of the handle stay
}
