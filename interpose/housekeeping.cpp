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
#include "names.h"
#include "new_file.h"
#include "proc_files.h"
#include "wire.h"

namespace memsnap::recorder {
namespace {

// A folder with more is not tidied to the end at once; each new recording goes on with it.
constexpr uint32_t kRemoved_most = 64;
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
        if (descriptor_ < 0 || lseek(descriptor_, 0, SEEK_SET) != 0) return;
        alignas(FolderEntry) char entries[4096];
        for (;;) {
            const long size = syscall(SYS_getdents64, descriptor_, entries, sizeof entries);
            if (size <= 0) return;
            for (long at = 0; at < size;) {
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

// Whether anybody may still write to it.
bool is_written_to(const wire::Header& header) {
    if (header.exit_mark != 0 || header.superseded != 0) return false;
    // Of another pid namespace nothing can be told, so it stays.
    if (header.pid_namespace != file_identity(AT_FDCWD, "/proc/self/ns/pid").inode) return true;
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

Found look_at(int folder, const char* name) {
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
    found.may_go =
        header.version_major == wire::kVersionMajor && header.failure_count == 0 && !is_written_to(header);
    found.bytes = status.stx_blocks * kBlock_bytes + disk_bytes(folder, names.c_str());
    found.written_ns = status.stx_mtime.tv_sec * 1'000'000'000 + status.stx_mtime.tv_nsec;
    return found;
}

void remove_recording(int folder, const char* name) {
    Path names;
    names_of(name, names);
    unlinkat(folder, names.c_str(), 0);
    unlinkat(folder, name, 0);
}

// Whether there was one to remove, beyond those that stay.
bool remove_oldest(Folder& folder, uint32_t kept_count) {
    Path oldest;
    int64_t oldest_written_ns = 0;
    uint32_t count = 0;
    folder.for_each([&](const char* name) {
        const Found found = look_at(folder.descriptor(), name);
        if (!found.may_go) return;
        ++count;
        if (oldest.size() != 0 && found.written_ns >= oldest_written_ns) return;
        oldest.clear();
        oldest.add(name);
        oldest_written_ns = found.written_ns;
    });
    if (count <= kept_count || oldest.size() == 0) return false;
    remove_recording(folder.descriptor(), oldest.c_str());
    return true;
}

uint64_t used_bytes(Folder& folder) {
    uint64_t bytes = 0;
    folder.for_each([&](const char* name) {
        const Found found = look_at(folder.descriptor(), name);
        if (found.is_recording) bytes += found.bytes;
    });
    return bytes;
}

}  // namespace

bool make_room(const Path& path, const HousekeepingRules& rules, uint64_t needed_bytes) {
    if (rules.kept_count == 0 && rules.budget_bytes == 0) return true;
    const int saved_errno = errno;
    Folder folder(path);
    for (uint32_t removed = 0; rules.kept_count != 0 && removed < kRemoved_most; ++removed) {
        // One less, since one more is about to come.
        if (!remove_oldest(folder, rules.kept_count - 1)) break;
    }
    const bool fits = rules.budget_bytes == 0 || used_bytes(folder) + needed_bytes <= rules.budget_bytes;
    errno = saved_errno;
    return fits;
}

}  // namespace memsnap::recorder
