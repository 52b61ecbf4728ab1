// SPDX-License-Identifier: Apache-2.0
//
// What a pool holds is not the sum of the live pointers: it keeps freed memory until it is trimmed. Memory
// from a pool is on the pool's device, whatever the current one is. Runs on two cards.
#include "driver.h"

int main(void) {
    const size_t bytes = 48 * kMebibyte;
    start_on(0);
    const CUmemPoolProps properties = pool_on(1);
    const CUmemPoolProps near_properties = pool_on(0);
    CUmemoryPool pool = NULL;
    CUmemoryPool near_pool = NULL;
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    CUdeviceptr third = 0;
    cuuint64_t threshold = UINT64_MAX;

    OK(DRIVER(cuMemPoolCreate)(&near_pool, &near_properties));
    OK(DRIVER(cuMemPoolSetAttribute)(near_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    const size_t before = free_bytes();
    OK(DRIVER(cuMemAllocFromPoolAsync)(&first, bytes, near_pool, NULL));   // + 48 MiB
    OK(DRIVER(cuMemAllocFromPoolAsync)(&second, bytes, near_pool, NULL));  // + 48 MiB
    OK(DRIVER(cuMemFreeAsync)(first, NULL));
    OK(DRIVER(cuStreamSynchronize)(NULL));
    if (free_bytes() != before - 2 * bytes) return 1;  // kept by the pool
    OK(DRIVER(cuMemPoolTrimTo)(near_pool, 0));         // - 48 MiB
    if (free_bytes() != before - bytes) return 1;
    OK(DRIVER(cuMemFree_v2)(second));
    OK(DRIVER(cuMemPoolDestroy)(near_pool));  // - 48 MiB

    // The other device's pools: one of ours, its default one by two names, its current one by two names.
    CUmemLocation there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    CUmemoryPool given[4] = {NULL};
    OK(DRIVER(cuDeviceGetDefaultMemPool)(&given[0], 1));
    OK(DRIVER(cuMemGetDefaultMemPool)(&given[1], &there, CU_MEM_ALLOCATION_TYPE_PINNED));
    OK(DRIVER(cuMemPoolCreate)(&pool, &properties));
    OK(DRIVER(cuDeviceSetMemPool)(1, pool));
    OK(DRIVER(cuDeviceGetMemPool)(&given[2], 1));
    OK(DRIVER(cuMemGetMemPool)(&given[3], &there, CU_MEM_ALLOCATION_TYPE_PINNED));
    if (given[1] != given[0] || given[2] != pool || given[3] != pool) return 1;
    OK(DRIVER(cuMemAllocFromPoolAsync_ptsz)(&third, bytes, pool, NULL));  // + 48 MiB on card 1
    OK(DRIVER(cuMemAllocFromPoolAsync)(&first, bytes, given[0], NULL));   // + 48 MiB on card 1
    OK(DRIVER(cuMemSetMemPool)(&there, CU_MEM_ALLOCATION_TYPE_PINNED, given[0]));
    OK(DRIVER(cuMemFreeAsync)(third, NULL));
    OK(DRIVER(cuMemPoolDestroy)(pool));
    return 0;  // `first` stays: 48 MiB on card 1
}
