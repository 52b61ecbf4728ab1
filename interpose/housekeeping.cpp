// SPDX-License-Identifier: Apache-2.0
#include "housekeeping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "glibc_compat.h"
#include "header.h"
#include "names.h"
#include "new_file.h"
#include "proc_files.h"
#include "wire.h"

namespace memsnap::recorder {
namespace {

// A folder with more is not tidied to the end at once; each new recording goes on with it.
constexpr uint32_t kRemoved_most = 64;
// A folder with more is looked at in part: the job waits meanwhile.
constexpr uint32_t kEntries_most = 10'000;
constexpr uint64_t kBlock_bytes = 512;  // of stx_blocks

// As getdents64 leaves it.
struct FolderEntry {
    uint64_t inode;
    int64_t next;
    uint16_t size_bytes;
    uint8_t type;
    char name[1];  // ended by a zero byte
};

class Folder {
  public:
    explicit Folder(const Path& path) {
        Path folder;
        folder_of(path, folder);
        descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    ~Folder() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    int descriptor() const { return descriptor_; }

    // visit(name) for each regular file that may be a recording.
    template <typename Visit>
    void for_each(Visit visit) {
        if (descriptor_ < 0) return;
        alignas(FolderEntry) char entries[4096];
        uint32_t entry_count = 0;
        for (;;) {
            const long size = syscall(SYS_getdents64, descriptor_, entries, sizeof entries);
            if (size <= 0) return;
            for (long at = 0; at < size;) {
                if (entry_count++ == kEntries_most) return;
                const auto* entry = reinterpret_cast<const FolderEntry*>(entries + at);
                at += entry->size_bytes;
                const bool is_file = entry->type == DT_REG || entry->type == DT_UNKNOWN;
                if (is_file && ends_in_bin(entry->name)) visit(entry->name);
            }
        }
    }

  private:
    static bool ends_in_bin(const char* name) {
        const size_t size = strlen(name);
        return size > 4 && equal(name + size - 4, ".bin");
    }

    int descriptor_ = -1;
};

struct Found {
    bool is_recording = false;
    bool may_go = false;     // finished, and nothing happened
    uint64_t bytes = 0;      // on the disk, with its names
    int64_t written_ns = 0;  // since 1970
};

// As stat's own entry points, which are younger than the floor, would tell it.
bool describe(int descriptor, const char* path, struct statx& status) {
    const int flags = AT_SYMLINK_NOFOLLOW | (path[0] == '\0' ? AT_EMPTY_PATH : 0);
    return syscall(SYS_statx, descriptor, path, flags, STATX_BASIC_STATS, &status) == 0;
}

// Where process numbers mean what they mean here: within a pid namespace of a running kernel. The first
// namespace has the same number on every host.
struct Place {
    uint64_t host_key = read_host_key();
    uint64_t pid_namespace = file_identity(AT_FDCWD, "/proc/self/ns/pid").inode;
};

// Whether anybody may still write to it. Of other places nothing can be told, so what is theirs stays.
bool is_written_to(const wire::Header& header, const Place& here) {
    if (header.exit_mark != 0 || header.superseded != 0) return false;
    if (header.host_key == 0 || header.host_key != here.host_key) return true;
    if (header.pid_namespace != here.pid_namespace) return true;
    return process_start_ticks(header.pid) == header.process_start_ticks;
}

uint64_t disk_bytes(int folder, const char* name) {
    struct statx status = {};
    return describe(folder, name, status) ? status.stx_blocks * kBlock_bytes : 0;
}

void names_of(const char* name, Path& names) {
    names.add(name);
    names.add(kNamesSuffix);
}

Found look_at(int folder, const char* name, const Place& here) {
    Found found;
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return found;
    wire::Header header;
    struct statx status = {};
    const bool is_ours = describe(file, "", status) && S_ISREG(status.stx_mode) &&
                         status.stx_uid == geteuid() && status.stx_nlink == 1 &&
                         pread(file, &header, sizeof header, 0) == sizeof header &&
                         memcmp(header.magic, wire::kMagic, sizeof header.magic) == 0;
    close(file);
    if (!is_ours) return found;
    Path names;
    names_of(name, names);
    found.is_recording = true;
    found.may_go = header.version_major == wire::kVersionMajor && header.failure_count == 0 &&
                   !is_written_to(header, here);
    found.bytes = status.stx_blocks * kBlock_bytes + disk_bytes(folder, names.c_str());
    found.written_ns = status.stx_mtime.tv_sec * 1'000'000'000 + status.stx_mtime.tv_nsec;
    return found;
}

bool remove_recording(int folder, const char* name) {
    Path names;
    names_of(name, names);
    unlinkat(folder, names.c_str(), 0);
    return unlinkat(folder, name, 0) == 0;
}

// What may go, the oldest of it by name.
class Finished {
  public:
    void clear() { count_ = kept_ = 0; }
    uint32_t count() const { return count_; }

    void add(const char* name, const Found& found) {
        ++count_;
        const bool has_room = kept_ < kRemoved_most;
        One* place = has_room ? &oldest_[kept_++] : newest();
        if (!has_room && found.written_ns >= place->written_ns) return;
        place->name.clear();
        place->name.add(name);
        place->written_ns = found.written_ns;
        place->bytes = found.bytes;
    }
    // Removes up to so many, the oldest first; the bytes that are free then.
    uint64_t remove_from(int folder, uint32_t removed_count) {
        uint64_t bytes = 0;
        for (; removed_count != 0 && kept_ != 0; --removed_count) {
            One* one = oldest();
            if (remove_recording(folder, one->name.c_str())) bytes += one->bytes;
            *one = oldest_[--kept_];
        }
        return bytes;
    }

  private:
    struct One {
        Text<256> name;
        int64_t written_ns;
        uint64_t bytes;
    };
    template <typename Before>
    One* first(Before before) {
        One* found = oldest_;
        for (uint32_t i = 1; i < kept_; ++i) {
            if (before(oldest_[i], *found)) found = &oldest_[i];
        }
        return found;
    }
    One* oldest() {
        return first([](const One& a, const One& b) { return a.written_ns < b.written_ns; });
    }
    One* newest() {
        return first([](const One& a, const One& b) { return a.written_ns > b.written_ns; });
    }

    uint32_t count_ = 0;
    uint32_t kept_ = 0;
    One oldest_[kRemoved_most] = {};
};

// Of the one thread that makes a file: no stack has the room.
constinit Finished g_finished;

}  // namespace

bool make_room(const Path& path, const HousekeepingRules& rules, uint64_t needed_bytes) {
    if (rules.kept_count == 0 && rules.budget_bytes == 0) return true;
    const int saved_errno = errno;
    const Place here;
    Folder folder(path);
    uint64_t used_bytes = 0;
    g_finished.clear();
    folder.for_each([&](const char* name) {
        const Found found = look_at(folder.descriptor(), name, here);
        used_bytes += found.bytes;
        if (found.may_go) g_finished.add(name, found);
    });
    // One more is about to come.
    if (rules.kept_count != 0 && g_finished.count() >= rules.kept_count)
        used_bytes -=
            g_finished.remove_from(folder.descriptor(), g_finished.count() - (rules.kept_count - 1));
    const bool fits = rules.budget_bytes == 0 || used_bytes + needed_bytes <= rules.budget_bytes;
    errno = saved_errno;
    return fits;
}

}  // namespace memsnap::recorder
