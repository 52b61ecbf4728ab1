// SPDX-License-Identifier: Apache-2.0
//
// A ring, or what begins like a receipt.
#include "diff_source.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "analysis.h"
#include "diff_members.h"
#include "names.h"
#include "receipt.h"
#include "receipt_check.h"
#include "receipt_file.h"
#include "receipt_text.h"
#include "recording.h"
#include "ring_file.h"
#include "site_names.h"

namespace memsnap {
namespace {

Result<Source> parsed(const std::string& path, std::string_view receipt) {
    Source source;
    source.path = path;
    const bool ours = parse_json(receipt, source.receipt).empty() &&
                      text(find(source.receipt, {"schema"})) == kReceiptSchema;
    if (!ours) {
        return failure(file_error(ErrorCode::not_memsnap, path, "receipt_schema",
                                  "neither a ring nor a receipt of this version",
                                  "memsnap-replay RING --json FILE writes a receipt"));
    }
    if (std::string problem = check_receipt(receipt); !problem.empty()) {
        return failure(file_error(ErrorCode::corrupt, path, "receipt_check", std::move(problem),
                                  "write the receipt again from its ring"));
    }
    return source;
}

Result<Source> open_receipt(const RingFile& file) {
    auto content = read_receipt_file(file);
    if (!content) return failure(std::move(content.error()));
    if (content->ends_with('\n')) content->pop_back();
    return parsed(file.path(), *content);
}

// A profiler's trace is JSON as a receipt is; its list of events begins early and is no receipt's member.
bool names_trace_events(const RingFile& file) {
    constexpr uint64_t kHead_bytes = uint64_t{64} << 10;
    std::string head(std::min(kHead_bytes, file.size_bytes()), '\0');
    if (!file.read(0, std::as_writable_bytes(std::span(head)))) return false;
    return head.contains("\"traceEvents\"");
}

}  // namespace

Result<Source> open_source(const std::string& path, const std::optional<TokenKey>& key) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    const auto brace = begins_with_brace(*file);
    if (!brace) return failure(brace.error());
    if (*brace && !names_trace_events(*file)) return open_receipt(*file);
    auto recording = open_recording(path, {});
    if (!recording) return failure(std::move(recording.error()));
    const auto analysis = analyse(recording->capture, {});
    if (!analysis) return failure(analysis.error());
    // The receipt that --json writes of the same file: with the words that the sidecar tells, and its source.
    const Names names = read_names(recording->capture);
    SiteNames sites(names);
    const Naming naming{names.problem.empty() ? &sites : nullptr, key, false};
    References references;
    if (recording->source) references.push_back(*recording->source);
    const auto receipt = write_receipt(recording->capture, *analysis, naming, references);
    if (!receipt) return failure(receipt.error());
    auto source = parsed(path, *receipt);
    if (source) source->capture.emplace(std::move(recording->capture));
    return source;
}

}  // namespace memsnap
