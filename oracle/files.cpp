// SPDX-License-Identifier: Apache-2.0
//
// Opening and copying. Rule: a descriptor is closed by who opened it, and a size is asked of it, never of
// the path.
#include "files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace oracle {
namespace {

class RegularFile {
  public:
    // A FIFO without a writer is opened at once, and then found to be no regular file.
    explicit RegularFile(const std::string& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        look();
    }
    ~RegularFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    RegularFile(const RegularFile&) = delete;
    RegularFile& operator=(const RegularFile&) = delete;

    /// What it is and how long, by now.
    void look() {
        struct stat status {};
        is_one_ = fd_ >= 0 && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
        size_ = is_one_ ? static_cast<u64>(status.st_size) : 0;
    }
    bool is_one() const { return is_one_; }
    u64 size() const { return size_; }

    /// Fewer where the file ends before, nothing where it cannot be read.
    std::optional<std::vector<std::byte>> read(u64 offset, u64 count) const {
        if (!is_one_) return std::nullopt;
        std::vector<std::byte> bytes(count);
        std::size_t done = 0;
        while (done < bytes.size()) {
            auto got =
                ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
            if (got < 0) return std::nullopt;
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        bytes.resize(done);
        return bytes;
    }

    // Of a large file that is no ring only the beginning is read: it is enough to refuse it.
    std::optional<std::vector<std::byte>> read_whole() const {
        constexpr u64 kLarge = u64{4} << 30;
        if (size_ <= kLarge) return read(0, size_);
        auto start = read(0, kHeadBytes);
        return start && begins_as_ring(*start) ? read(0, size_) : start;
    }

  private:
    int fd_;
    bool is_one_ = false;
    u64 size_ = 0;
};

// While its process is being armed a recording grows, its header first. What contradicts itself then is
// looked at once more, as long as it is by then.
template <typename T>
bool contradicts_itself(const Expected<T>& header) {
    return !header && header.error().exit_code == kExitCorrupt;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        bool second_set = byte == 0xC2U && next >= 0x80U && next < 0xA0U;  // U+0080 to U+009F
        bool lone = byte >= 0x80U && byte < 0xA0U && i > 0 && out.ends_with("\\xc2");
        if (byte < 0x20U || byte == 0x7FU || second_set || lone) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

std::optional<std::vector<std::byte>> read_file(const std::string& path) {
    return RegularFile(path).read_whole();
}

std::optional<Copy> copy_recording(const std::string& path) {
    constexpr u64 kHeadOffset = 512;
    RegularFile file(path);
    auto bytes = file.read_whole();
    if (bytes && contradicts_itself(decode_header(*bytes, bytes->size()))) {
        file.look();
        bytes = file.read_whole();
    }
    if (!bytes) return std::nullopt;
    Copy copy{std::move(*bytes), std::nullopt, read_file(path + ".names")};
    if (auto head = file.read(kHeadOffset, sizeof(u64)); head && head->size() == sizeof(u64))
        copy.head_after = integer64(*head, 0);
    return copy;
}

Expected<std::optional<Identity>> read_head(const std::string& path) {
    RegularFile file(path);
    auto head = file.read(0, std::min(file.size(), kHeadBytes));
    if (!head) return std::unexpected(unreadable(path));
    if (!begins_as_ring(*head)) return std::nullopt;
    auto identity = read_identity(*head, file.size());
    if (contradicts_itself(identity)) {
        file.look();
        head = file.read(0, std::min(file.size(), kHeadBytes));
        if (!head) return std::unexpected(unreadable(path));
        identity = read_identity(*head, file.size());
    }
    if (!identity) return std::unexpected(identity.error());
    return *identity;
}

Error unreadable(const std::string& path) {
    return {kExitIo, {}, kNoTicket, 0, "cannot read " + printable(path) + ", or it is no regular file"};
}

}  // namespace oracle
