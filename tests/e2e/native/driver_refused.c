// SPDX-License-Identifier: Apache-2.0
//
// A library's request that the driver refuses for want of memory is a failure. Argument: which request.
#include <string.h>

#include "driver.h"

int main(int argc, char** argv) {
    start_on(0);
    const size_t bytes = (size_t)64 << 30;
    const char* request = argc > 1 ? argv[1] : "";
    const CUmemAllocationProp properties = memory_on(0);
    const CUmemPoolProps pool_properties = pool_on(0);
    CUdeviceptr pointer = 0;
    size_t pitch = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUmemoryPool pool = NULL;
    CUarray array = NULL;
    OK(DRIVER(cuMemPoolCreate)(&pool, &pool_properties));
    free_bytes();
    CUresult result = CUDA_SUCCESS;
    if (strcmp(request, "cuMemAlloc") == 0) result = DRIVER(cuMemAlloc_v2)(&pointer, bytes);
    if (strcmp(request, "cuMemAllocPitch") == 0)
        result = DRIVER(cuMemAllocPitch_v2)(&pointer, &pitch, bytes / 1024, 1024, 4);
    if (strcmp(request, "cuMemCreate") == 0) result = DRIVER(cuMemCreate)(&handle, bytes, &properties, 0);
    if (strcmp(request, "cuMemAllocAsync") == 0) result = DRIVER(cuMemAllocAsync)(&pointer, bytes, NULL);
    if (strcmp(request, "cuMemAllocFromPoolAsync") == 0)
        result = DRIVER(cuMemAllocFromPoolAsync)(&pointer, bytes, pool, NULL);
    if (strcmp(request, "cuArray3DCreate") == 0) {
        const CUDA_ARRAY3D_DESCRIPTOR_v2 shape = {4096, 4096, 1024, CU_AD_FORMAT_FLOAT, 1, 0};
        result = DRIVER(cuArray3DCreate_v2)(&array, &shape);
    }
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, result);
    return 3;
}
