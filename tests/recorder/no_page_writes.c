// SPDX-License-Identifier: Apache-2.0
//
// Preloaded: a kernel that lets no page become writable again, as long as the job wants it.
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_refused;

void refuse_page_writes(bool refused) {
    is_refused = refused;
}

int mprotect(void* address, size_t size, int protection) {
    if (is_refused && (protection & PROT_WRITE) != 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, size, protection);
}
