// SPDX-License-Identifier: Apache-2.0
//
// Names for a page, and the sides of one with two incidents.
#include "cli_page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "check_receipt.h"
#include "diff_source.h"
#include "receipt.h"
#include "receipt_text.h"
#include "recording.h"

namespace memsnap {
namespace {

std::vector<std::string> words_of(const AnalysisOptions& options) {
    std::vector<std::string> words;
    if (options.device) words.insert(words.end(), {"--device", std::to_string(*options.device)});
    if (options.at_ticket) words.insert(words.end(), {"--at", std::to_string(*options.at_ticket)});
    return words;
}

// Without the names that it may hold and that no digest counts.
Result<std::string> receipt_text_of(const std::string& path) {
    const auto source = open_source(path);
    if (!source) return failure(source.error());
    return canonical_text(source->receipt, {"names"});
}

Result<bool> add_side(Page& page, PageSide side, const std::string& path, const ComparisonOptions& options) {
    if (is_receipt_file(path)) {
        const auto text = receipt_text_of(path);
        if (!text) return failure(text.error());
        page.add_receipt(*text, side);
        return false;
    }
    const auto recording = open_recording(path, {});
    if (!recording) return failure(recording.error());
    const auto known = known_names(recording->capture, options.names);
    if (!known) return failure(known.error());
    const auto analysis = analyse(recording->capture, {});
    if (!analysis) return failure(analysis.error());
    References references;
    if (recording->source) references.push_back(*recording->source);
    return add_incident(page, side, recording->capture, *analysis, **known, references,
                        {{}, options.page.events_count, options.names.hidden});
}

}  // namespace

Result<bool> add_incident(Page& page, PageSide side, const Capture& capture, const Analysis& analysis,
                          const KnownNames& known, const References& references, const PageCommand& command) {
    Naming of_receipt = known.naming;
    of_receipt.with_names = false;
    auto receipt = write_receipt(capture, analysis, of_receipt, references);
    if (!receipt) return failure(std::move(receipt.error()));
    Naming naming = known.naming;
    naming.with_names = !command.names_hidden;
    const auto added = page.add({.capture = capture,
                                 .analysis = analysis,
                                 .naming = naming,
                                 .receipt = std::move(*receipt),
                                 .memsnap_version = MEMSNAP_VERSION,
                                 .command = words_of(command.analysis),
                                 .events_most = command.events_most},
                                side);
    if (!added) return failure(added.error());
    return naming.with_names && naming.sites != nullptr;
}

void say_what_is_told(bool has_names) {
    if (has_names && ::isatty(STDERR_FILENO) != 0)
        fmt::print(stderr, "memsnap-replay: the page holds names; --no-names leaves them out\n");
}

Result<void> write_comparison_page(const ComparisonOptions& options, const std::string& json) {
    Page page;
    const auto before = add_side(page, PageSide::before, options.before, options);
    if (!before) return failure(before.error());
    const auto after = add_side(page, PageSide::after, options.after, options);
    if (!after) return failure(after.error());
    page.add_comparison(json);
    const auto written = page.write(options.html_path, options.force, {options.before, options.after});
    if (written) say_what_is_told(*before || *after);
    return written;
}

}  // namespace memsnap
