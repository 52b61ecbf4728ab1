// SPDX-License-Identifier: Apache-2.0
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "settings.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kMaxNameAttempts = 1000;
constexpr mode_t kPrivate = 0600;

// Calls `take` with `wanted`, "wanted-2", ... until it succeeds or fails for another reason than a taken
// name.
template <typename Take>
bool take_free_name(const Path& wanted, Path& name, Take take) {
    for (uint32_t attempt = 1; attempt <= kMaxNameAttempts; ++attempt) {
        number_path(wanted, attempt, name);
        if (name.cut()) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (take(name.c_str())) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

}  // namespace

void folder_of(const Path& path, Path& folder) {
    auto size = static_cast<size_t>(base_name(path.c_str()) - path.c_str());
    folder.clear();
    folder.add(size == 0 ? "." : path.c_str(), size == 0 ? 1 : size);
}

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    int saved_errno = errno;
    if (!kept_ && name_.size() != 0) unlink(name_.c_str());
    close(descriptor_);
    errno = saved_errno;
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
    return take_free_name(wanted_, name_, [this](const char* name) {
        descriptor_ = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, kPrivate);
        return descriptor_ >= 0;
    });
}

bool NewFile::keep(Path& name) {
    if (name_.size() == 0) {
        Text<64> self;
        self.add("/proc/self/fd/");
        self.add_number(static_cast<uint64_t>(descriptor_));
        bool named = take_free_name(wanted_, name_, [&self](const char* path) {
            return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
        });
        if (!named) return false;
    }
    kept_ = true;
    name = name_;
    return true;
}

}  // namespace memsnap::recorder
