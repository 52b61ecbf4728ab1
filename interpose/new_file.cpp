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
bool write_zeros(int file, uint64_t begin_bytes, uint64_t end_bytes) {
    static const unsigned char zeros[65536] = {};
    for (uint64_t at = begin_bytes; at < end_bytes; at += sizeof zeros) {
        ssize_t count = pwrite(file, zeros, sizeof zeros, static_cast<off_t>(at));
        if (count != static_cast<ssize_t>(sizeof zeros)) {
            if (count >= 0) errno = ENOSPC;
            return false;
        }
    }
    return true;
}

// Gives a file its blocks from one offset to another, so that none is missing when it is stored to.
bool reserve_blocks(int file, uint64_t begin_bytes, uint64_t end_bytes, bool any_file_system) {
    if (!file_size_allowed(end_bytes)) {
        errno = EFBIG;
        return false;
    }
    int result = 0;
    do {
        result =
            fallocate(file, 0, static_cast<off_t>(begin_bytes), static_cast<off_t>(end_bytes - begin_bytes));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return true;
    return errno == EOPNOTSUPP && any_file_system && write_zeros(file, begin_bytes, end_bytes);
}

// A child that could reach the mapping could write into its parent's file.
bool keep_from_children(void* mapping, uint64_t size_bytes) {
    if (madvise(mapping, size_bytes, MADV_DONTFORK) != 0) return false;
    madvise(mapping, size_bytes, MADV_DONTDUMP);
    return true;
}

void unmap(void* mapping, uint64_t size_bytes) {
    int saved_errno = errno;
    munmap(mapping, size_bytes);
    errno = saved_errno;
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
    return reserve_blocks(descriptor_, 0, size_bytes, any_file_system);
}

void* NewFile::map(uint64_t size_bytes, uint64_t room_bytes) {
    void* place = nullptr;
    if (room_bytes != 0) {
        place = mmap(nullptr, size_bytes + room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
        if (place == MAP_FAILED) return nullptr;
    }
    const int flags = MAP_SHARED | (place != nullptr ? MAP_FIXED : 0);
    void* mapping = mmap(place, size_bytes, PROT_READ | PROT_WRITE, flags, descriptor_, 0);
    if (mapping != MAP_FAILED && keep_from_children(mapping, size_bytes)) {
        mapping_ = mapping;
        mapped_bytes_ = size_bytes;
        return mapping;
    }
    if (mapping != MAP_FAILED || place != nullptr)
        unmap(place != nullptr ? place : mapping, size_bytes + room_bytes);
    return nullptr;
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
        if (!map_by_name()) {
            int saved_errno = errno;
            unlink(name_.c_str());
            errno = saved_errno;
            return false;
        }
    }
    kept_ = true;
    name = name_;
    return true;
}

// Of a file that got its name later the kernel goes on saying that it has none, to whoever looks for the
// recordings of a process in /proc/<pid>/maps. So it is mapped once more, in the same place, by its name.
bool NewFile::map_by_name() {
    if (mapping_ == nullptr) return true;
    const int named = ::open(name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (named < 0) return true;
    bool mapped = true;
    if (file_identity(named, "") == file_identity(descriptor_, "")) {
        void* mapping =
            mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, named, 0);
        mapped = mapping != MAP_FAILED && keep_from_children(mapping, mapped_bytes_);
    }
    int saved_errno = errno;
    close(named);
    errno = saved_errno;
    return mapped;
}

GrowingFile::~GrowingFile() {
    if (descriptor_ < 0) return;
    int saved_errno = errno;
    if (grown_) {
        [[maybe_unused]] int result = ftruncate(descriptor_, static_cast<off_t>(old_bytes_));
    }
    close(descriptor_);
    errno = saved_errno;
}

bool GrowingFile::open(const Path& path, const FileIdentity& identity) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor_ < 0) return false;
    if (identity.known && file_identity(descriptor_, "") == identity) return true;
    errno = ESTALE;
    return false;
}

bool GrowingFile::grow(uint64_t old_bytes, uint64_t new_bytes, bool any_file_system) {
    old_bytes_ = old_bytes;
    grown_ = true;  // in part, too: a disk may be full amid it
    return reserve_blocks(descriptor_, old_bytes, new_bytes, any_file_system);
}

void* GrowingFile::map(uint64_t offset_bytes, uint64_t size_bytes, void* place) {
    const int flags = MAP_SHARED | (place != nullptr ? MAP_FIXED : 0);
    void* mapping =
        mmap(place, size_bytes, PROT_READ | PROT_WRITE, flags, descriptor_, static_cast<off_t>(offset_bytes));
    if (mapping == MAP_FAILED) return nullptr;
    if (keep_from_children(mapping, size_bytes)) return mapping;
    if (place == nullptr) unmap(mapping, size_bytes);
    return nullptr;
}

}  // namespace memsnap::recorder
