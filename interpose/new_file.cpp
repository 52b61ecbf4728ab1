// SPDX-License-Identifier: Apache-2.0
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "settings.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kMaxNameAttempts = 1000;
constexpr mode_t kPrivate = 0600;

bool exists_beside(const Path& name, const char* suffix) {
    Path second = name;
    second.add(suffix);
    return access(second.c_str(), F_OK) == 0;
}

// A file system without fallocate gets its blocks by writing them: only on request (MEMSNAP_OUT_ANYFS), since
// it stalls the first event.
bool write_zeros(int file, uint64_t size_bytes) {
    static const unsigned char zeros[65536] = {};
    for (uint64_t written = 0; written < size_bytes; written += sizeof zeros) {
        ssize_t count = pwrite(file, zeros, sizeof zeros, static_cast<off_t>(written));
        if (count != static_cast<ssize_t>(sizeof zeros)) {
            if (count >= 0) errno = ENOSPC;
            return false;
        }
    }
    return true;
}

}  // namespace

void folder_of(const Path& path, Path& folder) {
    auto size = static_cast<size_t>(base_name(path.c_str()) - path.c_str());
    folder.clear();
    folder.add(size == 0 ? "." : path.c_str(), size == 0 ? 1 : size);
}

bool file_size_allowed(uint64_t size_bytes) {
    struct rlimit limit = {};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= size_bytes;
}

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    int saved_errno = errno;
    if (!kept_ && name_.size() != 0) unlink(name_.c_str());
    close(descriptor_);
    errno = saved_errno;
}

// Calls `take` with "wanted", "wanted-2", ... until it succeeds or fails for another reason than a taken
// name.
template <typename Take>
bool NewFile::take_free_name(Take take) {
    const uint32_t attempts = naming_.numbered ? kMaxNameAttempts : 1;
    for (uint32_t attempt = 1; attempt <= attempts; ++attempt) {
        number_path(wanted_, attempt, name_);
        if (name_.cut()) {
            errno = ENAMETOOLONG;
            break;
        }
        bool is_free = naming_.beside == nullptr || !exists_beside(name_, naming_.beside);
        if (is_free && take(name_.c_str())) return true;
        if (!is_free) errno = EEXIST;
        if (errno != EEXIST) break;
    }
    name_.clear();
    return false;
}

bool NewFile::open(const Path& wanted) {
    wanted_ = wanted;
    Path folder;
    folder_of(wanted, folder);
    descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate);
    // Giving it a name later takes /proc.
    if (descriptor_ >= 0 && access("/proc/self/fd", F_OK) == 0) return true;
    if (descriptor_ >= 0) close(descriptor_);
    return open_named();
}

bool NewFile::open_named() {
    return take_free_name([this](const char* name) {
        descriptor_ = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, kPrivate);
        return descriptor_ >= 0;
    });
}

bool NewFile::reserve(uint64_t size_bytes, bool any_file_system) {
    if (!file_size_allowed(size_bytes)) {
        errno = EFBIG;
        return false;
    }
    int result = 0;
    do {
        result = fallocate(descriptor_, 0, 0, static_cast<off_t>(size_bytes));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return true;
    return errno == EOPNOTSUPP && any_file_system && write_zeros(descriptor_, size_bytes);
}

void* NewFile::map(uint64_t size_bytes) {
    void* mapping = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapping == MAP_FAILED) return nullptr;
    // A child that could reach the mapping could write into its parent's file.
    if (madvise(mapping, size_bytes, MADV_DONTFORK) != 0) {
        int saved_errno = errno;
        munmap(mapping, size_bytes);
        errno = saved_errno;
        return nullptr;
    }
    madvise(mapping, size_bytes, MADV_DONTDUMP);
    return mapping;
}

bool NewFile::keep(Path& name) {
    if (name_.size() == 0) {
        Text<64> self;
        self.add("/proc/self/fd/");
        self.add_number(static_cast<uint64_t>(descriptor_));
        bool named = take_free_name([&self](const char* path) {
            return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
        });
        if (!named) return false;
    }
    kept_ = true;
    name = name_;
    return true;
}

}  // namespace memsnap::recorder
