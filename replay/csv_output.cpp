// SPDX-License-Identifier: Apache-2.0
//
// Rows from the recording, through the check, into the file.
#include "csv_output.h"

#include "csv_check.h"
#include "csv_rows.h"
#include "output_file.h"

namespace memsnap {

Result<void> write_ledger(const Capture& capture, const Analysis& analysis, const std::string& path,
                          bool replace) {
    auto file = OutputFile::create(path, replace, {capture.path});
    if (!file) return failure(std::move(file.error()));
    CsvCheck check(capture.window);
    Result<void> handed_out;
    const auto complete = write_rows(capture, analysis, [&](std::string_view lines) {
        if (!check.take_lines(lines)) return false;
        handed_out = file->write(lines);
        return handed_out.has_value();
    });
    if (!complete) return failure(complete.error());
    if (!check.problem().empty()) {
        return failure({.code = ErrorCode::io,
                        .file = capture.path,
                        .offset_bytes = std::nullopt,
                        .ticket = std::nullopt,
                        .rule = "ledger_self_check",
                        .detail = check.problem(),
                        .way_out = "no file was written; please report this"});
    }
    if (!handed_out) return handed_out;
    return file->finish();
}

}  // namespace memsnap
