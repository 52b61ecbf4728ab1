// SPDX-License-Identifier: Apache-2.0
//
// A file that is only ever copied from. The rule: `pread`, never a mapping of the file: its writer may be
// killed and the file truncated while it is read, and a mapping would turn that into a bus error.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "result.h"

namespace memsnap {

class RingFile {
  public:
    static Result<RingFile> open(const std::string& path) { return open(path, path); }
    // The same where errors are to show another name.
    static Result<RingFile> open(const std::string& path, const std::string& shown_path);
    RingFile(RingFile&& other) noexcept;
    RingFile& operator=(RingFile&&) = delete;
    ~RingFile();

    const std::string& path() const { return path_; }
    uint64_t size_bytes() const { return size_bytes_; }
    Result<void> read(uint64_t offset_bytes, std::span<std::byte> into) const;
    // Takes the size and the time of its last change as they are now. Errors: io.
    Result<void> look_again();
    // Whether the file still has the size and the time of its last change that it had when it was opened, or
    // looked at again; for files that nobody writes any more. Errors: io.
    Result<void> unchanged() const;
    // Where the first bytes from the offset on lie that are not a hole of the file; the offset itself where
    // the file system cannot tell.
    uint64_t next_data(uint64_t offset_bytes) const;

  private:
    RingFile(std::string path, int descriptor, const struct stat& status);
    std::string path_;
    int descriptor_;
    uint64_t size_bytes_;
    timespec changed_;
};

// Anonymous memory for one large copy, in huge pages where the system has them.
class Pages {
  public:
    Pages() = default;
    explicit Pages(size_t size_bytes);  // empty when the system refuses
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&& other) noexcept;
    ~Pages();
    std::span<std::byte> bytes() const { return {data_, size_bytes_}; }

  private:
    std::byte* data_ = nullptr;
    size_t size_bytes_ = 0;
};

}  // namespace memsnap
