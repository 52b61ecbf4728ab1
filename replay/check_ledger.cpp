// SPDX-License-Identifier: Apache-2.0
//
// Lines of the file against the lines that the recording gives.
#include "check_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "csv_check.h"
#include "csv_rows.h"
#include "ring_file.h"

namespace memsnap {
namespace {

// A file line by line, a chunk in memory.
class LineReader {
  public:
    explicit LineReader(const RingFile& file) : file_(file) {}

    enum class Outcome : uint8_t {
        line,
        end,
        unended,  // the last line has no end
        failed,   // `error()`
    };

    Outcome next(std::string_view& line) {
        size_t end = chunk_.find('\n', from_);
        while (end == std::string::npos && at_bytes_ < file_.size_bytes()) {
            if (chunk_.size() - from_ > kLine_bytes_most) return Outcome::unended;
            if (!read_more()) return Outcome::failed;
            end = chunk_.find('\n', from_);
        }
        if (end == std::string::npos) return from_ == chunk_.size() ? Outcome::end : Outcome::unended;
        line = std::string_view(chunk_).substr(from_, end - from_);
        from_ = end + 1;
        return Outcome::line;
    }

    Error error() const { return error_; }

  private:
    static constexpr size_t kChunk_bytes = 65536;
    static constexpr size_t kLine_bytes_most = 65536;

    bool read_more() {
        chunk_.erase(0, from_);
        from_ = 0;
        const size_t kept = chunk_.size();
        const size_t more = std::min<uint64_t>(kChunk_bytes, file_.size_bytes() - at_bytes_);
        chunk_.resize(kept + more);
        const auto read = file_.read(at_bytes_, std::as_writable_bytes(std::span(chunk_).subspan(kept)));
        at_bytes_ += more;
        if (!read) error_ = read.error();
        return read.has_value();
    }

    const RingFile& file_;
    std::string chunk_;
    size_t from_ = 0;
    uint64_t at_bytes_ = 0;
    Error error_;
};

class LedgerComparison {
  public:
    LedgerComparison(const Window& window, const RingFile& file)
        : check_(window), reader_(file), path_(file.path()) {}

    // Lines as the recording gives them. False: there is an error.
    bool take(std::string_view lines) {
        while (!lines.empty()) {
            const size_t end = lines.find('\n');
            if (!take_line(lines.substr(0, end))) return false;
            lines.remove_prefix(end + 1);
        }
        return true;
    }

    bool finish() {
        std::string_view line;
        switch (reader_.next(line)) {
            case LineReader::Outcome::end:
                return true;
            case LineReader::Outcome::failed:
                error_ = reader_.error();
                return false;
            case LineReader::Outcome::line:
            case LineReader::Outcome::unended:
                return differ(fmt::format("row {}: the recording has no such event", check_.row_count() + 1));
        }
        return false;
    }

    uint64_t row_count() const { return check_.row_count(); }
    const Error& error() const { return *error_; }

  private:
    bool differ(std::string detail) {
        error_ = Error{.code = ErrorCode::disagreed,
                       .file = path_,
                       .offset_bytes = std::nullopt,
                       .ticket = std::nullopt,
                       .rule = "ledger_differs",
                       .detail = std::move(detail),
                       .way_out = ""};
        return false;
    }

    bool take_line(std::string_view expected) {
        std::string_view line;
        switch (reader_.next(line)) {
            case LineReader::Outcome::line:
                break;
            case LineReader::Outcome::failed:
                error_ = reader_.error();
                return false;
            case LineReader::Outcome::end:
            case LineReader::Outcome::unended:
                return differ(fmt::format("row {}: is missing or cut off", line_));
        }
        if (!check_.take(line)) return differ(printable(check_.problem()));
        if (line != expected) return differ(first_cell(line, expected));
        ++line_;
        return true;
    }

    std::string first_cell(std::string_view line, std::string_view expected) const {
        const auto stated = cells_of(line);
        const auto found = cells_of(expected);
        for (size_t at = 0; at < kCsvColumnCount; ++at) {
            if (stated[at] == found[at]) continue;
            return fmt::format("row {}, {}: the ledger says {}, the recording {}", line_,
                               kCsvColumns[at].name, shown(stated[at]), shown(found[at]));
        }
        return {};
    }

    static std::string shown(std::string_view cell) { return cell.empty() ? "nothing" : std::string(cell); }

    CsvCheck check_;
    LineReader reader_;
    std::string path_;
    uint64_t line_ = 0;  // of the file; the header is 0
    std::optional<Error> error_;
};

}  // namespace

Result<std::string> check_ledger_file(const Capture& capture, const Analysis& analysis,
                                      const std::string& ledger_path) {
    const auto file = RingFile::open(ledger_path);
    if (!file) return failure(file.error());
    LedgerComparison comparison(capture.window, *file);
    const auto written =
        write_rows(capture, analysis, [&](std::string_view lines) { return comparison.take(lines); });
    if (!written) return failure(written.error());
    if (!*written || !comparison.finish()) return failure(comparison.error());
    return fmt::format("OK  {} follows from {} in all {} rows\n", printable(ledger_path),
                       printable(capture.path), comparison.row_count());
}

}  // namespace memsnap
