// SPDX-License-Identifier: Apache-2.0
//
// Preloaded behind the recorder: a disk with room for the ring and for nothing after it.
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The name that fallocate has with 64-bit offsets.
int fallocate64(int file, int mode, off_t offset, off_t size) {
    static int calls;
    if (calls++ != 0) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, offset, size);
}
