// SPDX-License-Identifier: Apache-2.0
//
// Physical memory lives while a handle or a mapping does, in whatever order they are given up.
#include "driver.h"

int main(void) {
    start_on(0);
    const CUmemAllocationProp properties = memory_on(0);
    const size_t bytes = 64 * kMebibyte;
    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle created = 0;
    CUmemGenericAllocationHandle retained = 0;
    CUmemGenericAllocationHandle imported = 0;
    CUmemGenericAllocationHandle second = 0;
    int shared = -1;
    const size_t before = free_bytes();

    OK(DRIVER(cuMemAddressReserve)(&range, 2 * bytes, 0, 0, 0));
    OK(DRIVER(cuMemCreate)(&created, bytes, &properties, 0));  // + 64 MiB
    OK(DRIVER(cuMemMap)(range, bytes, 0, created, 0));
    OK(DRIVER(cuMemRelease)(created));  // the mapping holds it
    free_bytes();
    OK(DRIVER(cuMemRetainAllocationHandle)(&retained, (void*)range));
    OK(DRIVER(cuMemUnmap)(range, bytes));  // the retained handle holds it
    free_bytes();
    OK(DRIVER(cuMemExportToShareableHandle)(&shared, retained, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(DRIVER(cuMemImportFromShareableHandle)(&imported, (void*)(intptr_t)shared,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(DRIVER(cuMemRelease)(retained));  // the import of our own memory holds it
    free_bytes();
    OK(DRIVER(cuMemRelease)(imported));  // - 64 MiB
    if (free_bytes() != before) return 1;

    // Two mappings go in one call; a refused call ends neither.
    OK(DRIVER(cuMemCreate)(&created, bytes, &properties, 0));  // + 64 MiB
    OK(DRIVER(cuMemCreate)(&second, bytes, &properties, 0));   // + 64 MiB
    OK(DRIVER(cuMemMap)(range, bytes, 0, created, 0));
    OK(DRIVER(cuMemMap)(range + bytes, bytes, 0, second, 0));
    EXPECT(CUDA_ERROR_INVALID_VALUE, DRIVER(cuMemUnmap)(range, 3 * bytes));
    OK(DRIVER(cuMemUnmap)(range, 2 * bytes));
    OK(DRIVER(cuMemRelease)(created));  // - 64 MiB
    free_bytes();
    OK(DRIVER(cuMemAddressFree)(range, 2 * bytes));
    return 0;  // `second` stays: 64 MiB
}
