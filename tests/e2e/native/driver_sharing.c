// SPDX-License-Identifier: Apache-2.0
//
// Memory that one process makes and another one opens is the maker's. The program runs itself again as the
// opener, which reads what it is to open from its standard input.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

struct Offer {
    CUipcMemHandle_v1 memory;
    CUmemPoolPtrExportData_v1 from_pool;
    int pool;
    int handle;
};

static int open_offer(void) {
    struct Offer offer;
    if (read(0, &offer, sizeof offer) != (ssize_t)sizeof offer) return 1;
    start_on(0);
    const size_t before = free_bytes();
    CUdeviceptr opened = 0;
    CUdeviceptr again = 0;
    CUdeviceptr pointer = 0;
    CUdeviceptr other = 0;
    CUmemoryPool pool = NULL;
    CUmemGenericAllocationHandle handle = 0;
    OK(DRIVER(cuIpcOpenMemHandle_v2)(&opened, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(DRIVER(cuIpcOpenMemHandle)(&again, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (again != opened) return 1;  // a second reference
    OK(DRIVER(cuMemPoolImportFromShareableHandle)(&pool, (void*)(intptr_t)offer.pool,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(DRIVER(cuMemPoolImportPointer)(&pointer, pool, &offer.from_pool));
    OK(DRIVER(cuMemPoolImportPointer)(&other, pool, &offer.from_pool));
    OK(DRIVER(cuMemImportFromShareableHandle)(&handle, (void*)(intptr_t)offer.handle,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (free_bytes() != before) return 1;
    OK(DRIVER(cuMemRelease)(handle));
    OK(DRIVER(cuMemFreeAsync)(pointer, NULL));
    OK(DRIVER(cuMemFree_v2)(other));
    OK(DRIVER(cuIpcCloseMemHandle)(opened));
    free_bytes();
    return 0;  // one reference to the other process's memory stays
}

int main(int argc, char** argv) {
    if (argc > 1) return open_offer();
    const size_t bytes = 14 * kMebibyte;
    start_on(0);
    struct Offer offer;
    const CUmemAllocationProp properties = memory_on(0);
    const CUmemPoolProps pool_properties = pool_on(0);
    CUdeviceptr memory = 0;
    CUdeviceptr pooled = 0;
    CUmemoryPool pool = NULL;
    CUmemGenericAllocationHandle handle = 0;
    OK(DRIVER(cuMemAlloc_v2)(&memory, bytes));  // + 14 MiB
    OK(DRIVER(cuIpcGetMemHandle)(&offer.memory, memory));
    OK(DRIVER(cuMemPoolCreate)(&pool, &pool_properties));
    OK(DRIVER(cuMemAllocFromPoolAsync)(&pooled, bytes, pool, NULL));  // + 14 MiB
    OK(DRIVER(cuMemPoolExportToShareableHandle)(&offer.pool, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                0));
    OK(DRIVER(cuMemPoolExportPointer)(&offer.from_pool, pooled));
    OK(DRIVER(cuMemCreate)(&handle, bytes, &properties, 0));  // + 14 MiB
    OK(DRIVER(cuMemExportToShareableHandle)(&offer.handle, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0));
    offer.pool = dup(offer.pool);  // without close-on-exec
    offer.handle = dup(offer.handle);

    int offered[2];
    if (pipe(offered) != 0) return 1;
    const pid_t opener = fork();
    if (opener == 0) {
        dup2(offered[0], 0);
        execl("/proc/self/exe", argv[0], "open", NULL);
        _exit(1);
    }
    if (write(offered[1], &offer, sizeof offer) != (ssize_t)sizeof offer) return 1;
    int status = 0;
    waitpid(opener, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
