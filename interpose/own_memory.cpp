// SPDX-License-Identifier: Apache-2.0
#include "own_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace memsnap::recorder {

CheckedMemory::~CheckedMemory() {
    if (memory_file_ >= 0) close(memory_file_);
}

bool CheckedMemory::read(uintptr_t address, void* target, size_t size_bytes) {
    if (failed_) return false;
    iovec local{target, size_bytes};
    iovec remote{reinterpret_cast<void*>(address), size_bytes};
    ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    bool refused = count < 0 && (errno == EPERM || errno == ENOSYS);
    bool whole = refused ? read_file(address, target, size_bytes)
                         : count >= 0 && static_cast<size_t>(count) == size_bytes;
    failed_ = !whole;
    return whole;
}

bool CheckedMemory::read_file(uintptr_t address, void* target, size_t size_bytes) {
    if (memory_file_ < 0) memory_file_ = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (memory_file_ < 0) return false;
    ssize_t count = pread(memory_file_, target, size_bytes, static_cast<off_t>(address));
    return count >= 0 && static_cast<size_t>(count) == size_bytes;
}

}  // namespace memsnap::recorder
