// SPDX-License-Identifier: Apache-2.0
//
// Keeps the library loadable on glibc 2.28 when it is built on a newer one, and harmless where a program runs
// on musl, whose loader ends a program for a symbol that a preloaded library lacks. The rule: what newer
// versions of glibc added, or moved from libdl and libpthread into libc with a new symbol version, and what
// musl does not have, is not referenced by name: it is asked of the kernel here, looked up among the loaded
// objects (elf_lookup.h), or weak.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace memsnap::recorder {

inline uint32_t current_thread_id() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

inline void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, const timespec& timeout) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}
inline void futex_wake(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

#pragma weak on_exit
using ExitHandler = void(int status, void* argument);
// Without on_exit nothing is done at exit: the file says of itself that no exit was seen.
inline void at_exit_call(ExitHandler* handler) {
    if (on_exit != nullptr) on_exit(handler, nullptr);
}

// Which file a descriptor or path names; stat's own entry points are younger than the floor.
struct FileIdentity {
    bool known = false;
    uint64_t device = 0;
    uint64_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
};
inline FileIdentity file_identity(int descriptor, const char* path) {
    struct statx found = {};
    int flags = path[0] == '\0' ? AT_EMPTY_PATH : 0;
    if (syscall(SYS_statx, descriptor, path, flags, STATX_INO, &found) != 0) return {};
    return FileIdentity{true, (uint64_t{found.stx_dev_major} << 32) | found.stx_dev_minor, found.stx_ino};
}

}  // namespace memsnap::recorder
