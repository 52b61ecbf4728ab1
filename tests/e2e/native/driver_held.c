// SPDX-License-Identifier: Apache-2.0
//
// One of each kind of memory that a library may hold, and then a request that is too large.
#include <unistd.h>

#include "driver.h"

int main(void) {
    start_on(0);
    const CUmemAllocationProp properties = memory_on(0);
    const CUDA_ARRAY_DESCRIPTOR_v2 shape = {1024, 1024, CU_AD_FORMAT_FLOAT, 4};
    CUdeviceptr pointer = 0;
    CUdeviceptr range = 0;
    CUdeviceptr gone = 0;
    CUarray array = NULL;
    void* host = NULL;
    CUmemGenericAllocationHandle handle = 0;
    CUexternalMemory external = NULL;
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = {.bytesize = 8 * kMebibyte};
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC file = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                             .size = kMebibyte};
    OK(DRIVER(cuMemAlloc_v2)(&gone, 100 * kMebibyte));
    OK(DRIVER(cuMemAlloc_v2)(&pointer, 10 * kMebibyte));               // the library's: 10 MiB
    OK(DRIVER(cuArrayCreate_v2)(&array, &shape));                      // 16 MiB
    OK(DRIVER(cuMemCreate)(&handle, 20 * kMebibyte, &properties, 0));  // 20 MiB, once, while it is mapped
    OK(DRIVER(cuMemAddressReserve)(&range, 64 * kMebibyte, 0, 0, 0));
    OK(DRIVER(cuMemMap)(range, 20 * kMebibyte, 0, handle, 0));
    OK(DRIVER(cuMemRelease)(handle));
    OK(DRIVER(cuMemAllocAsync)(&pointer, 6 * kMebibyte, NULL));  // 6 MiB
    OK(DRIVER(cuMemAllocManaged)(&pointer, 40 * kMebibyte, CU_MEM_ATTACH_GLOBAL));
    OK(DRIVER(cuMemHostAlloc)(&host, 24 * kMebibyte, 0));
    file.handle.fd = dup(2);
    OK(DRIVER(cuImportExternalMemory)(&external, &file));
    allocation.poolProps = pool_on(0);
    allocation.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(DRIVER(cuGraphCreate)(&graph, 0));
    OK(DRIVER(cuGraphAddMemAllocNode)(&node, graph, NULL, 0, &allocation));
    OK(DRIVER(cuMemFree_v2)(gone));
    free_bytes();
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, DRIVER(cuMemAlloc_v2)(&pointer, (size_t)64 << 30));
    return 3;
}
