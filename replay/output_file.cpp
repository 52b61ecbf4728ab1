// SPDX-License-Identifier: Apache-2.0
//
// A temporary file beside the target, then its name.
#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "reader_names.h"

namespace memsnap {

namespace {

Error output_error(const std::string& path, std::string detail, std::string way_out) {
    Error error;
    error.code = ErrorCode::io;
    error.file = path;
    error.rule = "writable";
    error.detail = std::move(detail);
    error.way_out = std::move(way_out);
    return error;
}

std::string system_words(const char* what) {
    return std::string(what) + ": " + std::strerror(errno);
}

bool write_whole(int descriptor, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        content.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

// The permissions that a new file of the user has; mkstemp gives fewer.
void open_up(int descriptor) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor, 0666 & ~mask);
}

// link() fails where the name is taken, rename() replaces what has it.
bool give_name(const std::string& temporary, const std::string& path, bool replace) {
    if (replace) return ::rename(temporary.c_str(), path.c_str()) == 0;
    return ::link(temporary.c_str(), path.c_str()) == 0;
}

bool is_same_file(const struct stat& target, const std::string& path) {
    struct stat other = {};
    return ::stat(path.c_str(), &other) == 0 && other.st_dev == target.st_dev &&
           other.st_ino == target.st_ino;
}

// Why what has the name must stay, or null. A rename over a device, the recording itself or its names could
// not be undone.
const char* irreplaceable(const std::string& path, const Inputs& inputs) {
    struct stat target = {};
    if (::stat(path.c_str(), &target) != 0) return nullptr;
    if (!S_ISREG(target.st_mode)) return "is not a regular file";
    for (const std::string& input : inputs) {
        if (is_same_file(target, input)) return "is the recording itself";
        if (is_same_file(target, input + kNamesSuffix)) return "holds the names of the recording";
    }
    return nullptr;
}

constexpr const char* kTaken = "exists, and is not overwritten";
constexpr const char* kOtherName = "give another name, or --force";

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, bool replace, const Inputs& inputs) {
    OutputFile file(path, replace);
    if (path == "-") return file;
    if (!replace && ::access(path.c_str(), F_OK) == 0) return failure(output_error(path, kTaken, kOtherName));
    if (const char* const obstacle = irreplaceable(path, inputs)) {
        return failure(output_error(path, obstacle, "give another name, or - for standard output"));
    }
    file.temporary_ = path + ".XXXXXX";
    file.descriptor_ = ::mkstemp(file.temporary_.data());
    if (file.descriptor_ < 0) {
        file.temporary_.clear();
        return failure(output_error(path, system_words("cannot be created"), "check the folder"));
    }
    open_up(file.descriptor_);
    return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      replace_(other.replace_) {}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::keep_private() {
    if (descriptor_ >= 0) ::fchmod(descriptor_, 0600);
}

Error OutputFile::cannot_write() const {
    if (temporary_.empty()) return output_error("standard output", system_words("cannot be written"), "");
    return output_error(path_, system_words("cannot be written"), "check the folder and its free space");
}

Result<void> OutputFile::write(std::string_view content) {
    const bool written = temporary_.empty()
                             ? std::fwrite(content.data(), 1, content.size(), stdout) == content.size()
                             : write_whole(descriptor_, content);
    if (written) return {};
    return failure(cannot_write());
}

Result<void> OutputFile::finish() {
    if (temporary_.empty()) {
        if (std::fflush(stdout) == 0) return {};
        return failure(cannot_write());
    }
    if (::close(std::exchange(descriptor_, -1)) != 0) return failure(cannot_write());
    if (!give_name(temporary_, path_, replace_)) {
        if (errno == EEXIST) return failure(output_error(path_, kTaken, kOtherName));
        return failure(cannot_write());
    }
    if (replace_) temporary_.clear();  // the rename took the name away
    return {};
}

Result<void> write_output(const std::string& path, std::string_view content, bool replace,
                          const Inputs& inputs) {
    auto file = OutputFile::create(path, replace, inputs);
    if (!file) return failure(std::move(file.error()));
    if (auto written = file->write(content); !written) return written;
    return file->finish();
}

}  // namespace memsnap
