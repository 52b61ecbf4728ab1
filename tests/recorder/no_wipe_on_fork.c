// SPDX-License-Identifier: Apache-2.0
//
// Preloaded behind the recorder: a kernel before Linux 4.14.
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int madvise(void* begin, size_t size, int advice) {
    if (advice == MADV_WIPEONFORK) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, begin, size, advice);
}
