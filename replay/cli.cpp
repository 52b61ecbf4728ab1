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
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "analysis.h"
#include "capture.h"
#include "check.h"
#include "check_ledger.h"
#include "check_receipt.h"
#include "cli_job.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_page.h"
#include "cli_results.h"
#include "cli_streams.h"
#include "diff.h"
#include "diff_json.h"
#include "diff_read.h"
#include "diff_text.h"
#include "dump.h"
#include "dump_state.h"
#include "newest_job.h"
#include "output_file.h"
#include "recording.h"
#include "report_text.h"

namespace memsnap {

namespace {

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
        Naming naming = (*known)->naming;
        if (options.names.hidden) naming.sites = nullptr;
        status = say(check_receipt_file(capture, options.json_path, naming));
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

int run_verdict(const Recording& recording, const Options& options) {
    ReportStyle style = terminal_style();
    style.sites_count = options.sites_count;
    return flushed(write_results(recording, options, style));
}

int run_triage_task(const TriageOptions& options) {
    const auto status = run_triage(options, terminal_style());
    return status ? flushed(*status) : report_error(status.error());
}

// What the comparison writes. The exit status; 0: all was written.
int write_comparison(const ComparisonOptions& options, const Diff& diff) {
    if (options.json_path.empty() && options.html_path.empty()) return 0;
    const auto json = diff_json(diff);
    if (!json) return report_error(json.error());
    return write_each({
        {options.json_path,
         [&] {
             return write_output(options.json_path, *json, options.force, {options.before, options.after});
         }},
        {options.html_path, [&] { return write_comparison_page(options, *json); }},
    });
}

int run_diff(const ComparisonOptions& options) {
    const auto possible =
        can_write_all(named_outputs(options), options.force, {options.before, options.after});
    if (!possible) return report_error(possible.error());
    const auto key = chosen_key(options.names);
    if (!key) return report_error(key.error());
    auto sides = read_sides(options.before, options.after, *key);
    if (!sides) return report_error(sides.error());
    const Diff diff = compare(std::move(sides->first), std::move(sides->second), options.diff);
    const int status = write_comparison(options, diff);
    if (options.json_path != "-" && options.html_path != "-")
        fmt::print("{}", render_diff(diff, terminal_style()));
    return flushed(status == 0 ? exit_status(diff) : status);
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
    if (!line) return flushed(line.error());
    if (line->task == Task::diff) return run_diff(line->comparison);
    if (line->task == Task::reference) return run_reference(line->reference);
    if (line->task == Task::triage) return run_triage_task(line->triage);
    if (line->task == Task::import) {
        const auto imported = run_import(line->import, line->options.import);
        return imported ? 0 : report_error(imported.error());
    }
    if (line->task == Task::live) {
        const auto status = run_live(line->live);
        return status ? flushed(*status) : report_error(status.error());
    }
    if (line->task == Task::ranges) {
        const auto told = run_ranges(line->ranges, letters(terminal_style().utf8));
        return told ? flushed(*told) : report_unreadable(told.error());
    }
    const Options& options = line->options;
    if (line->task == Task::job || line->task == Task::check_job) {
        const auto status = line->task == Task::job ? run_job(options, terminal_style()) : check_job(options);
        return status ? flushed(*status) : report_error(status.error());
    }
    const auto path = named_ring(options.ring);
    if (!path) return report_error(path.error());
    const auto recording = open_recording(*path, options.import);
    const bool dormant = !recording && recording.error().code == ErrorCode::dormant;
    if (dormant && line->task == Task::dump && options.dump_header) {
        const auto facts = Capture::read_facts(*path);
        return facts ? run_dump(*facts, options) : report_error(facts.error());
    }
    if (!recording) return report_unreadable(recording.error());
    print_notes(*path, recording->notes);
    if (line->task == Task::dump) return run_dump(recording->capture, options);
    if (line->task == Task::check) return run_check(recording->capture, options);
    return run_verdict(*recording, options);
}

// What a file holds is bounded by the memory there is; files that were being written are gone by then.
int run_within_memory(int argc, char** argv) {
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

}  // namespace

int run_command_line(int argc, char** argv) {
    prepare_streams();
    try {
        return run_within_memory(argc, argv);
    } catch (const std::system_error&) {  // by fmt::print
        return cannot_write_output();
    }
}

}  // namespace memsnap
