// SPDX-License-Identifier: Apache-2.0
//
// One list of results, each with what writes it.
#include "cli_results.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cli_page.h"
#include "collapsed_output.h"
#include "csv_output.h"
#include "cut.h"
#include "export_output.h"
#include "receipt.h"

namespace memsnap {
namespace {

class Results {
  public:
    Results(const Recording& recording, const Options& options, const KnownNames& known,
            const Analysis& analysis)
        : recording_(recording),
          capture_(recording.capture),
          options_(options),
          known_(known),
          analysis_(analysis) {}

    // The exit status.
    int write() {
        return write_each({
            {options_.json_path, [this] { return write_json(); }},
            {options_.csv_path, [this] { return write_csv(); }},
            {options_.window_path, [this] { return write_window(); }},
            {options_.collapsed_path, [this] { return write_collapsed(); }},
            {options_.pickle_path, [this] { return write_pickle_file(); }},
            {options_.perfetto_path, [this] { return write_perfetto_file(); }},
            {options_.html_path, [this] { return write_html(); }},
        });
    }

  private:
    Result<void> write_text(const std::string& path, std::string_view text) const {
        return write_output(path, text, options_.force, {capture_.path});
    }

    Result<void> write_json() {
        const auto receipt =
            write_receipt(capture_, analysis_, known_.naming, references_of(recording_, options_));
        if (!receipt) return failure(receipt.error());
        return write_text(options_.json_path, *receipt);
    }

    Result<void> write_csv() { return write_ledger(capture_, analysis_, options_.csv_path, options_.force); }

    Result<void> write_window() {
        if (!analysis_.incident) {
            fmt::print(stderr, "memsnap-replay: nothing to cut: the recording holds no incident\n");
            return {};
        }
        const auto text = cut_incident(capture_, analysis_, options_.window);
        if (!text) return failure(text.error());
        return write_text(options_.window_path, *text);
    }

    Result<void> write_collapsed() {
        const auto written =
            write_text(options_.collapsed_path, collapsed_text(capture_, analysis_, known_.naming));
        if (written && !known_.naming.with_names && ::isatty(STDERR_FILENO) != 0)
            fmt::print(stderr, "memsnap-replay: frames are tokens; --with-names writes their names\n");
        return written;
    }

    Result<void> write_pickle_file() {
        return write_pickle(capture_, known_.naming, options_.pickle_path, options_.force);
    }

    Result<void> write_perfetto_file() {
        return write_trace(capture_, analysis_, known_.naming, options_.perfetto_path, options_.force);
    }

    Result<void> write_html() {
        Page page;
        const PageCommand command{options_.analysis, options_.page.events_count, options_.names.hidden};
        const auto added = add_incident(page, PageSide::only, capture_, analysis_, known_,
                                        references_of(recording_, options_), command);
        if (!added) return failure(added.error());
        const auto written = page.write(options_.html_path, options_.force, {capture_.path});
        if (written) say_what_is_told(*added);
        return written;
    }

    const Recording& recording_;
    const Capture& capture_;
    const Options& options_;
    const KnownNames& known_;
    const Analysis& analysis_;
};

}  // namespace

int report_error(const Error& error) {
    fmt::print(stderr, "memsnap-replay: {}\n", describe(error));
    return static_cast<int>(error.code);
}

// A file that goes away again says whether the name can be had.
Result<void> can_write_all(const std::vector<std::string>& paths, bool force, const Inputs& inputs) {
    for (const std::string& path : paths) {
        auto file = OutputFile::create(path, force, inputs);
        if (!file) return failure(std::move(file.error()));
    }
    return {};
}

int write_each(const std::vector<Writer>& results) {
    int status = 0;
    for (const auto& [path, write] : results) {
        if (path.empty()) continue;
        const auto written = write();
        if (written) continue;
        const int code = report_error(written.error());
        if (status == 0) status = code;
    }
    return status;
}

References references_of(const Recording& recording, const Options& options) {
    References references;
    if (recording.source) references.push_back(*recording.source);
    for (const Reference& reference : options.references) {
        const bool is_source = recording.source && recording.source->same_bytes(reference);
        if (!is_source) references.push_back(reference);
    }
    return references;
}

int write_results(const Recording& recording, const Options& options, const ReportStyle& style) {
    const Capture& capture = recording.capture;
    if (const auto possible = can_write_all(named_outputs(options), options.force, {capture.path}); !possible)
        return report_error(possible.error());
    const auto known = known_names(capture, options.names);
    if (!known) return report_error(known.error());
    const auto analysis = analyse(capture, options.analysis);
    if (!analysis) return report_error(analysis.error());
    const int status = Results(recording, options, **known, *analysis).write();
    if (on_standard_output(options) == 0)
        fmt::print("{}", render_report(capture, *analysis, style, (*known)->shown(), (*known)->naming));
    return status == 0 ? exit_status(*analysis) : status;
}

}  // namespace memsnap
