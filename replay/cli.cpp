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
#include <optional>
#include <string>
#include <string_view>

#include "analysis.h"
#include "capture.h"
#include "check.h"
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
    "  0   replayed, no incident\n"
    "  10  an incident; a primary cause, or a qualifier that is itself the answer\n"
    "  11  an incident, the evidence does not suffice for a primary cause\n"
    "  2   usage\n"
    "  3   not a memsnap file, or a version this build cannot read\n"
    "  4   corrupt beyond what the commit rules explain\n"
    "  5   input or output error\n"
    "  6   a check or comparison disagreed\n";

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

struct Options {
    std::string ring;  // empty: the newest job of the working folder
    std::string json_path;
    bool force = false;
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
        dump_header(capture, stdout);
    } else if (options.dump_state) {
        if (const auto dumped = dump_state(capture, stdout); !dumped) return report_error(dumped.error());
    } else {
        dump_records(capture, options.dump, stdout);
    }
    return flushed(0);
}

int run_check(const Capture& capture) {
    const auto text = check(capture);
    if (!text) return report_error(text.error());
    fmt::print("{}", *text);
    return flushed(0);
}

int run_verdict(const Capture& capture, const Options& options) {
    const auto analysis = analyse(capture, options.analysis);
    if (!analysis) return report_error(analysis.error());
    if (!options.json_path.empty()) {
        const auto receipt = write_receipt(capture, *analysis);
        if (!receipt) return report_error(receipt.error());
        if (const auto written = write_output(options.json_path, *receipt, options.force, capture.path);
            !written) {
            return report_error(written.error());
        }
    }
    if (options.json_path != "-") fmt::print("{}", render_report(capture, *analysis, terminal_style()));
    return flushed(exit_status(*analysis));
}

}  // namespace

int run_command_line(int argc, char** argv) {
    constexpr const char* kRingHelp = "the recording; without it the newest job of the working folder";
    constexpr int kLastDevice = kDeviceCapacity - 1;
    Options options;
    CLI::App app{"Reads a recording of a GPU job's memory and says why it ran out of it.", "memsnap-replay"};
    app.footer(kExitCodes);
    app.require_subcommand(0, 1);
    app.set_version_flag("--version", MEMSNAP_VERSION);
    app.add_option("ring", options.ring, kRingHelp)->check(kNotEmpty);
    app.add_option("--json", options.json_path, "write the receipt to this file; - is standard output")
        ->check(kNotEmpty);
    app.add_flag("--force", options.force, "overwrite an existing output file");
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
    dump->add_option("--device", options.dump.device, "records of this device only")
        ->check(CLI::Range(0, kLastDevice));
    CLI::App* const validate = app.add_subcommand("check", "validate only");
    validate->add_option("ring", options.ring, kRingHelp)->check(kNotEmpty);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::usage);
    }
    const auto path = named_ring(options.ring);
    if (!path) return report_error(path.error());
    const auto capture = Capture::read(*path);
    if (!capture) return report_error(capture.error());
    if (dump->parsed()) return run_dump(*capture, options);
    if (validate->parsed()) return run_check(*capture);
    return run_verdict(*capture, options);
}

}  // namespace memsnap
