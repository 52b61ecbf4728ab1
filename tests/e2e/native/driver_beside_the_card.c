// SPDX-License-Identifier: Apache-2.0
//
// Managed and page-locked memory is not the card's: each is a ledger of its own.
#include "driver.h"

int main(void) {
    start_on(0);
    static char own[8192];
    const size_t before = free_bytes();
    CUdeviceptr managed = 0;
    CUdeviceptr gone = 0;
    void* pinned = NULL;
    void* mapped = NULL;
    OK(DRIVER(cuMemAllocManaged)(&managed, 40 * kMebibyte, CU_MEM_ATTACH_GLOBAL));
    OK(DRIVER(cuMemAllocManaged)(&gone, 24 * kMebibyte, CU_MEM_ATTACH_GLOBAL));
    OK(DRIVER(cuMemHostAlloc)(&pinned, 16 * kMebibyte, 0));
    OK(DRIVER(cuMemAllocHost_v2)(&mapped, 8 * kMebibyte));
    OK(DRIVER(cuMemHostRegister_v2)(own, 4096, 0));
    OK(DRIVER(cuMemHostRegister)(own + 4096, 4096, 0));
    if (free_bytes() != before) return 1;
    OK(DRIVER(cuMemFree_v2)(gone));
    OK(DRIVER(cuMemFreeHost)(mapped));
    OK(DRIVER(cuMemHostUnregister)(own + 4096));
    free_bytes();
    return 0;  // 40 MiB managed, 16 MiB and 4096 bytes page-locked stay
}
