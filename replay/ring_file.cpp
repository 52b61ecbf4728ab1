// SPDX-License-Identifier: Apache-2.0
//
// Opening and copying. The rule: an error of the system is reported with its own words and the place.
#include "ring_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace memsnap {

namespace {

Error io_error(const std::string& path, std::string detail, int error_number) {
    Error error;
    error.code = ErrorCode::io;
    error.file = path;
    error.rule = "readable";
    error.detail = std::move(detail);
    if (error_number != 0) error.detail += std::string(": ") + std::strerror(error_number);
    error.way_out = "check the path and its permissions; a recorder's file is named by MEMSNAP_OUT";
    return error;
}

}  // namespace

RingFile::RingFile(std::string path, int descriptor, const struct stat& status)
    : path_(std::move(path)),
      descriptor_(descriptor),
      size_bytes_(static_cast<uint64_t>(status.st_size)),
      changed_(status.st_mtim) {}

RingFile::RingFile(RingFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      changed_(other.changed_) {}

RingFile::~RingFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<RingFile> RingFile::open(const std::string& path, const std::string& shown_path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return failure(io_error(shown_path, "cannot be opened", errno));
    struct stat status;
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        return failure(io_error(shown_path, "is not a regular file", 0));
    }
    return RingFile(shown_path, descriptor, status);
}

Result<void> RingFile::read(uint64_t offset_bytes, std::span<std::byte> into) const {
    size_t done = 0;
    while (done < into.size()) {
        const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done,
                                    static_cast<off_t>(offset_bytes + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            Error error =
                io_error(path_, got < 0 ? "cannot be read" : "ended while it was read", got < 0 ? errno : 0);
            error.offset_bytes = offset_bytes + done;
            return failure(std::move(error));
        }
        done += static_cast<size_t>(got);
    }
    return {};
}

Result<void> RingFile::look_again() {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) return failure(io_error(path_, "cannot be looked at", errno));
    size_bytes_ = static_cast<uint64_t>(status.st_size);
    changed_ = status.st_mtim;
    return {};
}

Result<void> RingFile::unchanged() const {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) return failure(io_error(path_, "cannot be looked at", errno));
    const bool same = static_cast<uint64_t>(status.st_size) == size_bytes_ &&
                      status.st_mtim.tv_sec == changed_.tv_sec && status.st_mtim.tv_nsec == changed_.tv_nsec;
    if (same) return {};
    Error error = io_error(path_, "was changed while it was read", 0);
    error.way_out = "read it again when nobody writes to it any more";
    return failure(std::move(error));
}

uint64_t RingFile::next_data(uint64_t offset_bytes) const {
    const off_t found = ::lseek(descriptor_, static_cast<off_t>(offset_bytes), SEEK_DATA);
    if (found >= 0) return static_cast<uint64_t>(found);
    // A hole up to the end; but one that came of truncation is for read() to report.
    struct stat status;
    const bool whole = errno == ENXIO && ::fstat(descriptor_, &status) == 0 &&
                       static_cast<uint64_t>(status.st_size) >= size_bytes_;
    return whole ? size_bytes_ : offset_bytes;
}

Pages::Pages(size_t size_bytes) {
    if (size_bytes == 0) return;
    void* const mapped = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    ::madvise(mapped, size_bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(mapped);
    size_bytes_ = size_bytes;
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

Pages::~Pages() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

}  // namespace memsnap
