// SPDX-License-Identifier: Apache-2.0
//
// Bytes from the exporter into a file without a name, through the check, and on.
#include "export_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "output_file.h"
#include "perfetto.h"
#include "snapshot_export.h"

namespace memsnap {
namespace {

constexpr const char* kSystemFolder = "/tmp";

// Where the result will be; for standard output where the user has temporary files.
std::string draft_folder(const std::string& path) {
    const char* const chosen = std::getenv("TMPDIR");
    if (path == "-") return chosen != nullptr && *chosen != '\0' ? chosen : kSystemFolder;
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

// Gone with this object, and without a name from the beginning.
class Draft {
  public:
    explicit Draft(std::string folder) : folder_(std::move(folder)), file_(nullptr, std::fclose) {
        std::string name = folder_ + "/.memsnap-XXXXXX";
        const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
        if (descriptor < 0) return;
        ::unlink(name.c_str());
        file_.reset(::fdopen(descriptor, "w+"));
        if (!file_) ::close(descriptor);
    }

    bool write(std::string_view bytes) {
        return file_ && std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
    }
    bool complete() { return file_ && std::fflush(file_.get()) == 0; }
    std::string path() const { return "/proc/self/fd/" + std::to_string(::fileno(file_.get())); }

    Result<void> copy_to(OutputFile& out) {
        std::rewind(file_.get());
        std::array<char, 65536> piece;
        while (const size_t count = std::fread(piece.data(), 1, piece.size(), file_.get())) {
            if (auto written = out.write({piece.data(), count}); !written) return written;
        }
        if (std::ferror(file_.get()) != 0) return failure(error());
        return {};
    }

    Error error() const {
        return {.code = ErrorCode::io,
                .file = folder_,
                .offset_bytes = std::nullopt,
                .ticket = std::nullopt,
                .rule = "writable",
                .detail = std::string("cannot hold a draft: ") + std::strerror(errno),
                .way_out = "check the folder and its free space"};
    }

  private:
    std::string folder_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// `write` to a draft, `check` of what it is then, and on.
template <class Write, class Check>
Result<void> write_checked(const Capture& capture, const std::string& path, bool replace, Write&& write,
                           Check&& check) {
    auto file = OutputFile::create(path, replace, {capture.path});
    if (!file) return failure(std::move(file.error()));
    Draft draft(draft_folder(path));
    const Result<bool> written = write([&](std::string_view bytes) { return draft.write(bytes); });
    if (!written) return failure(written.error());
    if (!*written || !draft.complete()) return failure(draft.error());
    if (auto checked = check(draft.path()); !checked) return checked;
    if (auto copied = draft.copy_to(*file); !copied) return copied;
    return file->finish();
}

}  // namespace

Result<void> write_pickle(const Capture& capture, const Naming& naming, const std::string& path,
                          bool replace) {
    ExportedCounts counts;
    const auto write = [&](const snapshot::ByteSink& sink) -> Result<bool> {
        const auto written = write_snapshot(capture, naming, sink);
        if (!written) return failure(written.error());
        counts = *written;
        return counts.complete;
    };
    return write_checked(capture, path, replace, write, [&](const std::string& draft) {
        return check_snapshot(draft, counts, naming.with_names, capture.path);
    });
}

Result<void> write_trace(const Capture& capture, const Analysis& analysis, const Naming& naming,
                         const std::string& path, bool replace) {
    const auto write = [&](const snapshot::ByteSink& sink) -> Result<bool> {
        return write_perfetto(capture, analysis, naming, sink);
    };
    return write_checked(capture, path, replace, write, [&](const std::string& draft) {
        return check_perfetto(draft, naming.with_names, capture.path);
    });
}

}  // namespace memsnap
