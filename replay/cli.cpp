// SPDX-License-Identifier: Apache-2.0
//
// The command line. The rule: results go to standard output, everything else to standard error; the exit
// status says which of the cases of `--help` it was.
#include "cli.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "check.h"
#include "check_ledger.h"
#include "check_receipt.h"
#include "cli_names.h"
#include "collapsed_output.h"
#include "csv_output.h"
#include "cut.h"
#include "diff.h"
#include "diff_json.h"
#include "diff_read.h"
#include "diff_text.h"
#include "dump.h"
#include "dump_state.h"
#include "newest_job.h"
#include "output_file.h"
#include "receipt.h"
#include "report.h"

namespace memsnap {

namespace {

constexpr const char* kExitCodes =
    "Exit status:\n"
    "  0   replayed, no incident; diff: the fix is proven, or no incident on either side\n"
    "  10  an incident; a primary cause, or a qualifier that is itself the answer;\n"
    "      diff: AFTER ran out of memory too, or the fix is refuted\n"
    "  11  an incident, the evidence does not suffice for a primary cause;\n"
    "      diff: not comparable, or what would prove the fix is unknown\n"
    "  2   usage\n"
    "  3   not a memsnap file, or a version this build cannot read\n"
    "  4   corrupt beyond what the commit rules explain\n"
    "  5   input or output error\n"
    "  6   a check or comparison disagreed; diff: another verdict of the same evidence\n";

// An empty name is an unset variable of somebody's script, not the wish for a default.
const CLI::Validator kNotEmpty(
    [](const std::string& text) { return std::string(text.empty() ? "an empty name" : ""); }, "FILE");
const CLI::Validator kTicket(
    [](const std::string& text) {
        const bool number = !text.empty() && text.size() < 20 &&
                            std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
        return std::string(number ? "" : "not a ticket: " + printable(text));
    },
    "TICKET");

const CLI::Validator kBound(
    [](const std::string& text) {
        const bool number = !text.empty() && text.size() <= 10 &&
                            std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
        const bool bound = number && std::stoull(text) > 0 && std::stoull(text) < uint64_t{1} << 32;
        return std::string(bound ? "" : "not a bound from 1 to 4294967295: " + printable(text));
    },
    "COUNT");

const CLI::Validator kBytes(
    [](const std::string& text) {
        const bool number = !text.empty() && text.size() < 19 &&
                            std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
        return std::string(number ? "" : "not a number of bytes: " + printable(text));
    },
    "BYTES");
const CLI::Validator kCohortField(
    [](const std::string& text) {
        return std::string(is_cohort_field(text) ? "" : "not a fact that diff compares: " + printable(text));
    },
    "FIELD");

// The `diff` subcommand's.
struct ComparisonOptions {
    std::string before, after;
    std::string json_path;
    bool force = false;
    DiffOptions diff;
};

constexpr int kLastDevice = kDeviceCapacity - 1;
constexpr int kSitesShown_most = 1000;

struct Options {
    std::string ring;  // empty: the newest job of the working folder
    std::string json_path;
    std::string csv_path;
    std::string window_path;
    std::string collapsed_path;
    CutBounds window;
    bool force = false;
    NameOptions names;
    std::optional<size_t> sites_count;
    AnalysisOptions analysis;
    DumpOptions dump;
    bool dump_header = false;
    bool dump_state = false;
};

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

// How many results go there instead of the report.
int on_standard_output(const Options& options) {
    return (options.json_path == "-") + (options.csv_path == "-") + (options.window_path == "-") +
           (options.collapsed_path == "-");
}

std::vector<std::string> named_outputs(const Options& options) {
    std::vector<std::string> paths;
    for (const std::string& path :
         {options.json_path, options.csv_path, options.window_path, options.collapsed_path}) {
        if (!path.empty() && path != "-") paths.push_back(path);
    }
    return paths;
}

// Whether two results would have one name, however it is written.
bool same_name_twice(const Options& options) {
    std::vector<std::filesystem::path> seen;
    for (const std::string& path : named_outputs(options)) {
        std::error_code error;
        const auto whole = std::filesystem::absolute(path, error);
        auto canonical = std::filesystem::weakly_canonical(whole, error);
        if (error) canonical = whole.lexically_normal();
        if (std::ranges::find(seen, canonical) != seen.end()) return true;
        seen.push_back(std::move(canonical));
    }
    return false;
}

// Before the first result is written: a file that goes away again says whether the name can be had.
Result<void> can_write_all(const Capture& capture, const Options& options) {
    for (const std::string& path : named_outputs(options)) {
        auto file = OutputFile::create(path, options.force, capture.path);
        if (!file) return failure(std::move(file.error()));
    }
    return {};
}

int run_verdict(const Capture& capture, const Options& options) {
    if (const auto possible = can_write_all(capture, options); !possible)
        return report_error(possible.error());
    const auto known = known_names(capture, options.names);
    if (!known) return report_error(known.error());
    const Naming& naming = (*known)->naming;
    const auto analysis = analyse(capture, options.analysis);
    if (!analysis) return report_error(analysis.error());
    if (!options.json_path.empty()) {
        const auto receipt = write_receipt(capture, *analysis, naming);
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
    if (on_standard_output(options) == 0) {
        ReportStyle style = terminal_style();
        style.sites_count = options.sites_count;
        fmt::print("{}", render_report(capture, *analysis, style, (*known)->names));
    }
    return flushed(exit_status(*analysis));
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

void add_window(CLI::App& app, Options& options) {
    CLI::Option* const window =
        app.add_option("--window", options.window_path,
                       "write the incident alone as a short text for memsnap-encode; - is standard output")
            ->check(kNotEmpty);
    const auto bound = [&](const char* name, auto& count, const char* what) {
        app.add_option(name, count, what)->capture_default_str()->check(kBound)->needs(window);
    };
    bound("--window-events", options.window.events_count, "most events of it");
    bound("--window-segments", options.window.segments_count, "most segments of it");
    bound("--window-blocks", options.window.blocks_count, "most blocks of one of its segments");
}

// An option given before a subcommand that does not have it; empty: none.
std::string misplaced_option(const CLI::App& app, const CLI::App* check) {
    const auto given = app.get_subcommands();
    if (given.empty()) return {};
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0) continue;
        const std::string name = option->get_name();
        const bool ring = option->get_positional() && given.front()->get_option_no_throw("ring") != nullptr;
        const bool of_check = given.front() == check && (name == "--device" || name == "--at" ||
                                                         name == "--no-names" || name == "--token-key");
        if (!ring && !of_check) return name;
    }
    return {};
}

CLI::App* add_diff(CLI::App& app, ComparisonOptions& options) {
    CLI::App* const diff =
        app.add_subcommand("diff", "compare the run that failed with the run that has the fix");
    diff->add_option("before", options.before, "the ring or receipt of the run that failed")
        ->required()
        ->check(kNotEmpty);
    diff->add_option("after", options.after, "the ring or receipt of the run with the fix")
        ->required()
        ->check(kNotEmpty);
    diff->add_option("--changed", options.diff.declared,
                     "a fact that the fix was meant to change; repeatable")
        ->check(kCohortField)
        ->allow_extra_args(false);
    diff->add_option("--target-headroom", options.diff.target_headroom_bytes,
                     "bytes that must stay free at the peak of AFTER")
        ->check(kBytes);
    diff->add_option("--json", options.json_path, "write the comparison to this file; - is standard output")
        ->check(kNotEmpty);
    diff->add_flag("--force", options.force, "overwrite an existing output file");
    return diff;
}

CLI::App* add_check(CLI::App& app, Options& options) {
    CLI::App* const check = app.add_subcommand("check", "validate a recording, or what was written of it");
    check->add_option("--receipt", options.json_path, "recompute this receipt, and compare every field")
        ->check(kNotEmpty);
    check->add_option("--csv", options.csv_path, "recompute this event ledger, and compare every row")
        ->check(kNotEmpty);
    check->add_flag("--no-names", options.names.hidden, "leave the file of names beside the recording alone");
    add_token_key(*check, options.names);
    check->add_option("--device", options.analysis.device, "the device that the ledger was written for")
        ->check(CLI::Range(0, kLastDevice));
    check->add_option("--at", options.analysis.at_ticket, "the failure that the ledger was written for")
        ->check(kTicket);
    return check;
}

}  // namespace

int run_command_line(int argc, char** argv) {
    constexpr const char* kRingHelp = "the recording; without it the newest job of the working folder";
    Options options;
    CLI::App app{"Reads a recording of a GPU job's memory and says why it ran out of it.", "memsnap-replay"};
    app.footer(kExitCodes);
    app.require_subcommand(0, 1);
    app.set_version_flag("--version", MEMSNAP_VERSION);
    app.add_option("ring", options.ring, kRingHelp)->check(kNotEmpty);
    app.add_option("--json", options.json_path, "write the receipt to this file; - is standard output")
        ->check(kNotEmpty);
    app.add_option("--csv", options.csv_path, "write the event ledger to this file; - is standard output")
        ->check(kNotEmpty);
    app.add_option("--collapsed", options.collapsed_path,
                   "write live bytes by stack for flame graph tools to this file; - is standard output")
        ->check(kNotEmpty);
    add_window(app, options);
    app.add_flag("--force", options.force, "overwrite an existing output file");
    add_names(app, options.names);
    app.add_option("--sites", options.sites_count, "most birth sites of each list")
        ->check(CLI::Range(1, kSitesShown_most));
    app.add_option("--device", options.analysis.device, "look at this device only")
        ->check(CLI::Range(0, kLastDevice));
    app.add_option("--at", options.analysis.at_ticket, "explain the failure whose record has this ticket")
        ->check(kTicket);
    CLI::App* const dump = app.add_subcommand("dump", "print one line a record");
    dump->add_option("ring", options.ring, kRingHelp)->check(kNotEmpty);
    auto* const header =
        dump->add_flag("--header", options.dump_header, "the header's facts instead of the records");
    dump->add_flag("--state", options.dump_state, "what is live after the last record instead of the records")
        ->excludes(header);
    dump->add_flag("--no-names", options.names.hidden, "show libraries by number")->needs(header);
    dump->add_option("--device", options.dump.device, "records of this device only")
        ->check(CLI::Range(0, kLastDevice));
    CLI::App* const validate = add_check(app, options);
    validate->add_option("ring", options.ring, kRingHelp)->check(kNotEmpty);
    ComparisonOptions comparison;
    CLI::App* const diff = add_diff(app, comparison);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::usage);
    }
    if (const std::string option = misplaced_option(app, validate); !option.empty()) {
        fmt::print(stderr, "memsnap-replay: {} does nothing before {}\n", option,
                   app.get_subcommands().front()->get_name());
        return static_cast<int>(ErrorCode::usage);
    }
    if (diff->parsed()) return run_diff(comparison);
    if (same_name_twice(options)) {
        fmt::print(stderr, "memsnap-replay: two results cannot have one name\n");
        return static_cast<int>(ErrorCode::usage);
    }
    if (on_standard_output(options) > 1) {
        fmt::print(stderr, "memsnap-replay: only one result can be on standard output\n");
        return static_cast<int>(ErrorCode::usage);
    }
    const auto path = named_ring(options.ring);
    if (!path) return report_error(path.error());
    const auto capture = Capture::read(*path);
    if (!capture) return report_unreadable(capture.error());
    if (dump->parsed()) return run_dump(*capture, options);
    if (validate->parsed()) return run_check(*capture, options);
    return run_verdict(*capture, options);
}

}  // namespace memsnap
