// SPDX-License-Identifier: Apache-2.0
//
// The ring's id is the begin of the source's hash, so that one file always makes one ring. It is read before
// it is hashed: what is no such file is refused without a look at all of it. Both are of one open file, which
// must not change meanwhile.
#include "import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

#include "convert.h"
#include "convert_profile.h"
#include "read_profile.h"
#include "read_snapshot.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kHead_bytes = 4096;
constexpr size_t kNames_shown_most = 8;

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

struct Made {
    Converted converted;
    Reference source;
};

Result<Made> from_profile(const RingFile& file, const ImportOptions& options) {
    auto profile = read_profile(file);
    if (!profile) return failure(std::move(profile.error()));
    auto source = reference_of(file, "profiler_trace");
    if (!source) return failure(std::move(source.error()));
    Made made{convert_profile(std::move(*profile), ring_id(*source)), std::move(*source)};
    if (options.card_bytes)
        made.converted.notes.emplace_back("--card states nothing here: it is for memory snapshots");
    return made;
}

std::string left_out_members(const std::vector<std::string>& names) {
    const auto shown = std::span(names).first(std::min(names.size(), kNames_shown_most));
    std::string note = fmt::format("not understood, and left out: {}", fmt::join(shown, ", "));
    if (shown.size() < names.size()) note += fmt::format(", and {} more", names.size() - shown.size());
    return note;
}

Result<Made> from_snapshot(const RingFile& file, const ImportOptions& options) {
    auto snapshot = read_snapshot(file);
    if (!snapshot) return failure(std::move(snapshot.error()));
    auto source = reference_of(file, "torch_snapshot");
    if (!source) return failure(std::move(source.error()));
    const std::vector<std::string> ignored = std::move(snapshot->ignored);
    auto converted = convert(std::move(*snapshot), ring_id(*source), options.card_bytes);
    if (!converted) return failure(std::move(converted.error()));
    if (!ignored.empty()) converted->notes.push_back(left_out_members(ignored));
    return Made{std::move(*converted), std::move(*source)};
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
    const bool is_text = !begin.contains('\0') || begin.starts_with("\x1F\x8B");  // gzip's first bytes
    if (is_text && looks_like_profile(begin) && !begins_like_receipt(begin)) return Source::profiler_trace;
    return looks_like_pickle(begin) ? Source::torch_snapshot : Source::other;
}

Result<ImportedRing> ImportedRing::read(const std::string& path, Source source,
                                        const ImportOptions& options) {
    const auto at_path = [&](Error error) {
        error.file = path;
        return failure(std::move(error));
    };
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    auto made =
        source == Source::torch_snapshot ? from_snapshot(*file, options) : from_profile(*file, options);
    if (!made) return at_path(std::move(made.error()));
    if (auto same = file->unchanged(); !same) return failure(std::move(same.error()));
    ImportedRing out;
    out.ring_ = ::memfd_create("memsnap-ring", MFD_CLOEXEC);
    out.sidecar_ = ::memfd_create("memsnap-names", MFD_CLOEXEC);
    if (out.ring_ < 0 || out.sidecar_ < 0) return at_path(io_error("no memory for a copy as a recording"));
    if (auto written = made->converted.image.write(out.ring_, out.sidecar_); !written)
        return at_path(std::move(written.error()));
    out.source_ = std::move(made->source);
    out.notes_ = std::move(made->converted.notes);
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
