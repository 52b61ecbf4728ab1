// SPDX-License-Identifier: Apache-2.0
//
// Reads, triages, prints.
#include "cli_triage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "output_file.h"
#include "triage.h"
#include "triage_json.h"
#include "triage_screen.h"

namespace memsnap {
namespace {

constexpr size_t kRead_bytes = size_t{1} << 18;

class Descriptor {
  public:
    explicit Descriptor(const std::string& path)
        : opened_(!path.empty()),
          number_(opened_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (opened_ && number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }

  private:
    bool opened_;
    int number_;
};

Error read_error(const std::string& path) {
    Error error;
    error.code = ErrorCode::io;
    error.file = path.empty() ? "standard input" : path;
    error.rule = "readable";
    error.detail = std::string("cannot be read: ") + std::strerror(errno);
    error.way_out = "check the path and its permissions; - is standard input";
    return error;
}

Result<LogFindings> read_log(const std::string& path) {
    const Descriptor log(path);
    if (log.number() < 0) return failure(read_error(path));
    LogScanner scanner;
    std::vector<char> piece(kRead_bytes);
    while (true) {
        const ssize_t got = ::read(log.number(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failure(read_error(path));
        if (got == 0) return scanner.finish();
        scanner.feed({piece.data(), static_cast<size_t>(got)});
    }
}

}  // namespace

Result<int> run_triage(const TriageOptions& options, const ReportStyle& style) {
    const std::string path = options.log == "-" ? "" : options.log;
    if (!options.json_path.empty() && options.json_path != "-") {
        // Before the log is read: whether the name can be had.
        auto file = OutputFile::create(options.json_path, options.force, {path});
        if (!file) return failure(std::move(file.error()));
    }
    auto log = read_log(path);
    if (!log) return failure(std::move(log.error()));
    const Triage result = triage(std::move(*log));
    if (!options.json_path.empty()) {
        const auto written = write_output(options.json_path, triage_json(result), options.force, {path});
        if (!written) return failure(written.error());
    }
    if (options.json_path != "-") fmt::print("{}", render_triage(result, path, style));
    return result.exit_status();
}

}  // namespace memsnap
