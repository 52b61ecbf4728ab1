// SPDX-License-Identifier: Apache-2.0
//
// What a command line does. The rule: results go to standard output, everything else to standard error; the
// exit status says which of the cases of `--help` it was.
#include "cli.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

#include "analysis.h"
#include "capture.h"
#include "check.h"
#include "check_ledger.h"
#include "check_receipt.h"
#include "cli_names.h"
#include "cli_options.h"
#include "collapsed_output.h"
#include "csv_output.h"
#include "cut.h"
#include "diff.h"
#include "diff_json.h"
#include "diff_read.h"
#include "diff_text.h"
#include "dump.h"
#include "dump_state.h"
#include "export_output.h"
#include "newest_job.h"
#include "output_file.h"
#include "receipt.h"
#include "recording.h"
#include "report.h"

namespace memsnap {

namespace {

int report_error(const Error& error) {
    fmt::print(stderr, "memsnap-replay: {}\n", describe(error));
    return static_cast<int>(error.code);
}

int flushed(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    fmt::print(stderr, "memsnap-replay: cannot write to standard output\n");
    return static_cast<int>(ErrorCode::io);
}

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

ReportStyle terminal_style() {
    std::setlocale(LC_CTYPE, "");
    const bool dumb = environment("TERM") == "dumb";
    const bool utf8 = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
    return {.colour = ::isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() && !dumb,
            .utf8 = utf8 && !dumb};
}

// Names the recording to read, and says so when it had to choose.
Result<std::string> named_ring(const std::string& given) {
    if (!given.empty()) return given;
    const auto choice = choose_ring(".");
    if (!choice) return failure(choice.error());
    fmt::print(stderr, "memsnap-replay: reading {}, {}\n", printable(choice->path), choice->reason);
    for (const std::string& other : choice->others)
        fmt::print(stderr, "  also of this job: {}\n", printable(other));
    return choice->path;
}

int run_dump(const Capture& capture, const Options& options) {
    if (options.dump_header) {
        dump_header(capture, stdout, shown_names(capture, options.names));
    } else if (options.dump_state) {
        if (const auto dumped = dump_state(capture, stdout); !dumped) return report_error(dumped.error());
    } else {
        dump_records(capture, options.dump, stdout);
    }
    return flushed(0);
}

int run_check(const Capture& capture, const Options& options) {
    const auto say = [](const Result<std::string>& text) {
        if (!text) return report_error(text.error());
        fmt::print("{}", *text);
        return 0;
    };
    int status = 0;
    if (options.json_path.empty() && options.csv_path.empty()) status = say(check(capture));
    if (!options.json_path.empty()) {
        const auto known = known_names(capture, options.names);
        if (!known) return report_error(known.error());
        status = say(check_receipt_file(capture, options.json_path, (*known)->naming));
    }
    if (status == 0 && !options.csv_path.empty()) {
        const auto analysis = analyse(capture, options.analysis);
        if (!analysis) return report_error(analysis.error());
        status = say(check_ledger_file(capture, *analysis, options.csv_path));
    }
    return status == 0 ? flushed(0) : status;
}

// A recording that cannot be read, and why it perhaps is none.
int report_unreadable(Error error) {
    if (error.code == ErrorCode::not_memsnap && is_receipt_file(error.file)) {
        error.detail = "is a receipt already: nothing is left in it to take out";
        error.way_out = "give the recording; memsnap-replay check --receipt compares a receipt with it";
    }
    return report_error(error);
}

Result<void> write_window(const Capture& capture, const Analysis& analysis, const Options& options) {
    if (!analysis.incident) {
        fmt::print(stderr, "memsnap-replay: nothing to cut: the recording holds no incident\n");
        return {};
    }
    const auto text = cut_incident(capture, analysis, options.window);
    if (!text) return failure(text.error());
    return write_output(options.window_path, *text, options.force, capture.path);
}

// Before the first result is written: a file that goes away again says whether the name can be had.
Result<void> can_write_all(const Capture& capture, const Options& options) {
    for (const std::string& path : named_outputs(options)) {
        auto file = OutputFile::create(path, options.force, capture.path);
        if (!file) return failure(std::move(file.error()));
    }
    return {};
}

// What an import was made of comes first; the user may have named it too.
References references_of(const Recording& recording, const Options& options) {
    References references;
    if (recording.source) references.push_back(*recording.source);
    for (const Reference& reference : options.references) {
        const bool is_source = recording.source && recording.source->same_bytes(reference);
        if (!is_source) references.push_back(reference);
    }
    return references;
}

int run_verdict(const Recording& recording, const Options& options) {
    const Capture& capture = recording.capture;
    if (const auto possible = can_write_all(capture, options); !possible)
        return report_error(possible.error());
    const auto known = known_names(capture, options.names);
    if (!known) return report_error(known.error());
    const Naming& naming = (*known)->naming;
    const auto analysis = analyse(capture, options.analysis);
    if (!analysis) return report_error(analysis.error());
    if (!options.json_path.empty()) {
        const auto receipt = write_receipt(capture, *analysis, naming, references_of(recording, options));
        if (!receipt) return report_error(receipt.error());
        if (const auto written = write_output(options.json_path, *receipt, options.force, capture.path);
            !written) {
            return report_error(written.error());
        }
    }
    if (!options.csv_path.empty()) {
        if (const auto written = write_ledger(capture, *analysis, options.csv_path, options.force); !written)
            return report_error(written.error());
    }
    if (!options.window_path.empty()) {
        if (const auto written = write_window(capture, *analysis, options); !written)
            return report_error(written.error());
    }
    if (!options.collapsed_path.empty()) {
        const auto written = write_output(options.collapsed_path, collapsed_text(capture, *analysis, naming),
                                          options.force, capture.path);
        if (!written) return report_error(written.error());
        if (!naming.with_names && ::isatty(STDERR_FILENO) != 0)
            fmt::print(stderr, "memsnap-replay: frames are tokens; --with-names writes their names\n");
    }
    if (!options.pickle_path.empty()) {
        if (const auto written = write_pickle(capture, naming, options.pickle_path, options.force); !written)
            return report_error(written.error());
    }
    if (!options.perfetto_path.empty()) {
        const auto written = write_trace(capture, *analysis, naming, options.perfetto_path, options.force);
        if (!written) return report_error(written.error());
    }
    if (on_standard_output(options) == 0) {
        ReportStyle style = terminal_style();
        style.sites_count = options.sites_count;
        fmt::print("{}", render_report(capture, *analysis, style, (*known)->names));
    }
    return flushed(exit_status(*analysis));
}

int run_triage_task(const TriageOptions& options) {
    const auto status = run_triage(options, terminal_style());
    return status ? flushed(*status) : report_error(status.error());
}

int run_diff(const ComparisonOptions& options) {
    auto sides = read_sides(options.before, options.after);
    if (!sides) return report_error(sides.error());
    const Diff diff = compare(std::move(sides->first), std::move(sides->second), options.diff);
    if (!options.json_path.empty()) {
        const auto json = diff_json(diff);
        if (!json) return report_error(json.error());
        std::error_code absent;
        const bool over_after = std::filesystem::equivalent(options.json_path, options.after, absent);
        const auto written = write_output(options.json_path, *json, options.force,
                                          over_after ? options.after : options.before);
        if (!written) return report_error(written.error());
    }
    if (options.json_path != "-") fmt::print("{}", render_diff(diff, terminal_style()));
    return flushed(exit_status(diff));
}

int run_reference(const ReferenceOptions& options) {
    for (const std::string& path : options.paths) {
        const auto reference = reference_of(path, options.kind);
        if (!reference) return report_error(reference.error());
        fmt::print("{}\n", text_of(*reference));
    }
    return flushed(0);
}

int run_task(int argc, char** argv) {
    const auto line = read_command_line(argc, argv);
    if (!line) return line.error();
    if (line->task == Task::diff) return run_diff(line->comparison);
    if (line->task == Task::reference) return run_reference(line->reference);
    if (line->task == Task::triage) return run_triage_task(line->triage);
    if (line->task == Task::import) {
        const auto imported = run_import(line->import, line->options.import);
        return imported ? 0 : report_error(imported.error());
    }
    const Options& options = line->options;
    const auto path = named_ring(options.ring);
    if (!path) return report_error(path.error());
    const auto recording = open_recording(*path, options.import);
    if (!recording) return report_unreadable(recording.error());
    print_notes(*path, recording->notes);
    if (line->task == Task::dump) return run_dump(recording->capture, options);
    if (line->task == Task::check) return run_check(recording->capture, options);
    return run_verdict(*recording, options);
}

}  // namespace

// What a file holds is bounded by the memory there is; files that were being written are gone by then.
int run_command_line(int argc, char** argv) {
    try {
        return run_task(argc, argv);
    } catch (const std::bad_alloc&) {
        return report_error({.code = ErrorCode::io,
                             .file = {},
                             .offset_bytes = std::nullopt,
                             .ticket = std::nullopt,
                             .rule = "memory",
                             .detail = "not enough memory for this file",
                             .way_out = "read it where more memory is free, or raise the limit (ulimit -v)"});
    }
}

}  // namespace memsnap
