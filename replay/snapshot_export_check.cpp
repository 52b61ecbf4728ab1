// SPDX-License-Identifier: Apache-2.0
//
// The check behind the writing. The rule: the file is read by the reader that strangers' files are read by,
// which shares nothing with the writer.
#include "../snapshot/read_snapshot.h"

#include <fmt/format.h>

#include <algorithm>

#include "snapshot_export.h"
#include "snapshot_export_names.h"

namespace memsnap {
namespace {

bool says_nothing(const snapshot::Snapshot& read) {
    const auto silent = [&](snapshot::TextId id) { return is_exported_text(read.texts.text(id)); };
    const auto of_entry = [&](const auto& entry) { return silent(entry.user_metadata); };
    for (snapshot::StackId id = 1; id <= read.stacks.count(); ++id) {
        if (!std::ranges::all_of(read.stacks.frames(id), [&](const snapshot::Frame& frame) {
                return silent(frame.file) && silent(frame.function);
            }))
            return false;
    }
    return std::ranges::all_of(read.traces,
                               [&](const auto& trace) { return std::ranges::all_of(trace, of_entry); }) &&
           std::ranges::all_of(read.host_trace, of_entry) && std::ranges::all_of(read.blocks, of_entry) &&
           std::ranges::all_of(read.host_blocks, of_entry) &&
           std::ranges::all_of(read.annotations, [&](const auto& one) { return silent(one.name); });
}

// Empty: nothing is wrong.
std::string problem_of(const snapshot::Snapshot& read, const ExportedCounts& counts, bool with_names) {
    uint64_t entry_count = read.host_trace.size();
    for (const auto& trace : read.traces)
        entry_count += trace.size();
    if (entry_count != counts.entry_count)
        return fmt::format("{} entries were written, {} are read", counts.entry_count, entry_count);
    const uint64_t segment_count = read.segments.size() + read.host_segments.size();
    if (segment_count != counts.segment_count)
        return fmt::format("{} segments were written, {} are read", counts.segment_count, segment_count);
    if (!read.ignored.empty()) return "a member is not understood: " + plain_ascii(read.ignored.front());
    return with_names || says_nothing(read) ? "" : "a text is no token";
}

}  // namespace

Result<void> check_snapshot(const std::string& path, const ExportedCounts& counts, bool with_names,
                            const std::string& source) {
    const auto read = snapshot::read_snapshot(path);
    const std::string problem =
        read ? problem_of(*read, counts, with_names) : "it cannot be read again: " + read.error().detail;
    if (problem.empty()) return {};
    return failure({.code = ErrorCode::io,
                    .file = source,
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "snapshot_self_check",
                    .detail = problem,
                    .way_out = "no file was written; please report this"});
}

}  // namespace memsnap
