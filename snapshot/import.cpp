// SPDX-License-Identifier: Apache-2.0
//
// The source is hashed first: the ring's id is the begin of that hash, so that one file always makes one
// ring.
#include "import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "convert.h"
#include "convert_profile.h"
#include "read_profile.h"
#include "read_snapshot.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kHead_bytes = 4096;

Error io_error(std::string what) {
    Error error;
    error.code = ErrorCode::io;
    error.rule = "readable";
    error.detail = std::move(what) + ": " + std::strerror(errno);
    error.way_out = "check the path and its permissions";
    return error;
}

std::array<uint8_t, 16> ring_id(const Reference& source) {
    std::array<uint8_t, 16> id = {};
    for (size_t at = 0; at < id.size(); ++at) {
        const char* const digits = source.sha256.data() + 2 * at;
        std::from_chars(digits, digits + 2, id[at], 16);
    }
    return id;
}

// A receipt's first member; it is JSON as a trace is.
bool begins_like_receipt(std::string_view head) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto skip = [&] { head.remove_prefix(std::min(head.find_first_not_of(kBlank), head.size())); };
    skip();
    if (!head.starts_with('{')) return false;
    head.remove_prefix(1);
    skip();
    return head.starts_with(R"("capture")");
}

Result<Converted> converted(const std::string& path, Source source, const Reference& reference,
                            const ImportOptions& options) {
    if (source == Source::profiler_trace) {
        auto profile = read_profile(path);
        if (!profile) return failure(std::move(profile.error()));
        Converted out = convert_profile(std::move(*profile), ring_id(reference));
        if (options.card_bytes)
            out.notes.emplace_back("--card states nothing here: it is for memory snapshots");
        return out;
    }
    auto snapshot = read_snapshot(path);
    if (!snapshot) return failure(std::move(snapshot.error()));
    std::vector<std::string> ignored = std::move(snapshot->ignored);
    auto out = convert(std::move(*snapshot), ring_id(reference), options.card_bytes);
    if (out && !ignored.empty()) {
        std::string names;
        for (const std::string& name : ignored)
            names += (names.empty() ? "" : ", ") + name;
        out->notes.push_back("not understood, and left out: " + names);
    }
    return out;
}

}  // namespace

// What cannot be opened or is no regular file is left to the reader of rings, which says so.
Result<Source> source_of(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return Source::other;
    struct stat status = {};
    const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    std::array<char, kHead_bytes> head;
    const ssize_t count = regular ? ::pread(descriptor, head.data(), head.size(), 0) : 0;
    Error problem;
    if (count < 0) problem = io_error("cannot be read");
    ::close(descriptor);
    if (count < 0) {
        problem.file = path;
        return failure(std::move(problem));
    }
    const std::string_view begin(head.data(), static_cast<size_t>(count));
    if (begin.starts_with("\x89MEMSNAP")) return Source::other;
    if (looks_like_profile(begin) && !begins_like_receipt(begin)) return Source::profiler_trace;
    return looks_like_pickle(begin) ? Source::torch_snapshot : Source::other;
}

Result<ImportedRing> ImportedRing::read(const std::string& path, Source source,
                                        const ImportOptions& options) {
    const bool is_snapshot = source == Source::torch_snapshot;
    auto reference = reference_of(path, is_snapshot ? "torch_snapshot" : "profiler_trace");
    if (!reference) return failure(std::move(reference.error()));
    const auto at_path = [&](Error error) {
        error.file = path;
        return failure(std::move(error));
    };
    auto made = converted(path, source, *reference, options);
    if (!made) return at_path(std::move(made.error()));
    ImportedRing out;
    out.ring_ = ::memfd_create("memsnap-ring", MFD_CLOEXEC);
    out.sidecar_ = ::memfd_create("memsnap-names", MFD_CLOEXEC);
    if (out.ring_ < 0 || out.sidecar_ < 0) return at_path(io_error("no memory for a copy as a recording"));
    if (auto written = made->image.write(out.ring_, out.sidecar_); !written)
        return at_path(std::move(written.error()));
    out.source_ = std::move(*reference);
    out.notes_ = std::move(made->notes);
    return out;
}

ImportedRing::ImportedRing(ImportedRing&& other) noexcept
    : ring_(std::exchange(other.ring_, -1)),
      sidecar_(std::exchange(other.sidecar_, -1)),
      source_(std::move(other.source_)),
      notes_(std::move(other.notes_)) {}

ImportedRing::~ImportedRing() {
    if (ring_ >= 0) ::close(ring_);
    if (sidecar_ >= 0) ::close(sidecar_);
}

std::string ImportedRing::ring_path() const {
    return fmt::format("/proc/self/fd/{}", ring_);
}

std::string ImportedRing::sidecar_path() const {
    return fmt::format("/proc/self/fd/{}", sidecar_);
}

}  // namespace memsnap::snapshot
