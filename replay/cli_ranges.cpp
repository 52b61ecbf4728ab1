// SPDX-License-Identifier: Apache-2.0
//
// One recording, the uses of its ranges, and where they go.
#include "cli_ranges.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "output_file.h"
#include "range_list.h"
#include "recording.h"

namespace memsnap {

CLI::App* add_ranges(CLI::App& app, RangesOptions& options) {
    const CLI::Validator not_empty(
        [](const std::string& text) { return std::string(text.empty() ? "an empty name" : ""); }, "FILE");
    CLI::App* const ranges =
        app.add_subcommand("ranges", "say what each phase of the program took and left behind");
    ranges->add_option("ring", options.ring, "the recording")->required()->check(not_empty);
    ranges->add_option("--json", options.json_path, "write all of them to this file; - is standard output")
        ->check(not_empty);
    add_names(*ranges, options.names);
    ranges->add_flag("--force", options.force, "overwrite an existing output file");
    return ranges;
}

Result<int> run_ranges(const RangesOptions& options, Letters letters) {
    const auto recording = open_recording(options.ring, {});
    if (!recording) return failure(recording.error());
    const Capture& capture = recording->capture;
    const auto known = known_names(capture, options.names);
    if (!known) return failure(known.error());
    const auto uses = range_uses(capture);
    if (!uses) return failure(uses.error());
    RangeList list{.capture = capture,
                   .uses = *uses,
                   .last_sites = {},
                   .naming = (*known)->naming,
                   .names_shown = options.json_path.empty() ? !options.names.hidden : options.names.exported};
    if (options.json_path.empty()) {
        fmt::print("{}", render_ranges(list, letters));
        return 0;
    }
    if (const RangeUse* const last = last_closed(*uses)) {
        auto sites = range_sites(capture, *last);
        if (!sites) return failure(sites.error());
        list.last_sites = std::move(*sites);
    }
    const auto written = write_output(options.json_path, ranges_json(list), options.force, {capture.path});
    if (!written) return failure(written.error());
    return 0;
}

}  // namespace memsnap
