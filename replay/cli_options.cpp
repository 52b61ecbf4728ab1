// SPDX-License-Identifier: Apache-2.0
//
// Declarations for the parser, and what it cannot see: options before the wrong subcommand, results in one
// place.
#include "cli_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli_job.h"
#include "cli_table.h"
#include "diff_contract.h"
#include "result.h"

namespace memsnap {

namespace {

constexpr const char* kExitCodes =
    "Exit status:\n"
    "  0   replayed, no incident; diff: the fix is proven, or no incident on either side;\n"
    "      triage: the log holds no error about memory\n"
    "  10  an incident; a primary cause, or a qualifier that is itself the answer;\n"
    "      diff: AFTER ran out of memory too, or the fix is refuted;\n"
    "      triage: some error of the log has such a cause or answer\n"
    "  11  an incident, the evidence does not suffice for a primary cause;\n"
    "      diff: not comparable, or what would prove the fix is unknown;\n"
    "      triage: the log holds errors, and none has a cause or answer\n"
    "  2   usage\n"
    "  3   not a memsnap file, or a version this build cannot read\n"
    "  4   corrupt beyond what the commit rules explain\n"
    "  5   input or output error\n"
    "  6   a check or comparison disagreed; diff: another verdict of the same evidence\n"
    "  7   dormant: the recording waits to be armed\n";

constexpr int kLastDevice = kDeviceCapacity - 1;
constexpr int kSitesShown_most = 1000;

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

const CLI::Validator kReference(
    [](const std::string& text) {
        const auto reference = parse_reference(text);
        return reference ? std::string() : reference.error().detail;
    },
    "KIND:SHA256:BYTES");

// Whether two results would have one name, however it is written.
bool same_name_twice(const std::vector<std::string>& paths) {
    std::vector<std::filesystem::path> seen;
    for (const std::string& path : paths) {
        std::error_code error;
        const auto whole = std::filesystem::absolute(path, error);
        auto canonical = std::filesystem::weakly_canonical(whole, error);
        if (error) canonical = whole.lexically_normal();
        if (std::ranges::find(seen, canonical) != seen.end()) return true;
        seen.push_back(std::move(canonical));
    }
    return false;
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

void add_page(CLI::App& app, std::string& path, PageChoice& page) {
    CLI::Option* const html =
        app.add_option("--html", path, "write the page of the incident to this file; - is standard output")
            ->check(kNotEmpty);
    app.add_option("--html-events", page.events_count, "most events that the page holds one by one")
        ->capture_default_str()
        ->check(kBound)
        ->needs(html);
}

void add_job(CLI::App& app, JobTaskOptions& options) {
    constexpr uint64_t kHour_ms = 3'600'000;
    app.add_option("--job", options.wish, "of the jobs in a folder this one: its number or key")
        ->check(kNotEmpty);
    app.add_option("--receipts", options.receipts_folder, "write the receipt of each rank into this folder")
        ->check(kNotEmpty);
    app.add_option("--clocks-within", options.clocks_within_ms,
                   "what the clocks of two hosts differ at most, in ms; nearer failures are in no order")
        ->capture_default_str()
        ->check(CLI::Range(uint64_t{0}, kHour_ms));
}

// What is of a job does nothing for one recording, and the other way round; empty: all fits.
std::string wrong_for_sources(const CLI::App& app, const std::vector<std::string>& sources) {
    constexpr std::string_view kOfJob[] = {"--job", "--receipts", "--clocks-within"};
    constexpr std::string_view kOfBoth[] = {"--json", "--force", "--names", "--no-names", "--token-key"};
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0 || option->get_positional()) continue;
        const std::string name = option->get_name();
        const bool of_job = std::ranges::find(kOfJob, name) != std::end(kOfJob);
        const bool of_both = std::ranges::find(kOfBoth, name) != std::end(kOfBoth);
        if (names_job(sources) && !of_job && !of_both)
            return fmt::format("{} is of one recording, and a job was named", name);
        if (!names_job(sources) && of_job)
            return fmt::format("{} is of a folder or several recordings", name);
    }
    return {};
}

// What stands before a subcommand that does not take it, or on both sides of it; empty: all fits.
std::string misplaced(const CLI::App& app, const CLI::App* check) {
    const auto all_given = app.get_subcommands();
    if (all_given.empty()) return {};
    const CLI::App* const given = all_given.front();
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() == 0) continue;
        const std::string name = option->get_name();
        const CLI::Option* const own = given->get_option_no_throw(name);
        const bool ring = option->get_positional() && own != nullptr;
        const bool of_check = given == check && (name == "--job" || name == "--device" || name == "--at" ||
                                                 name == "--no-names" || name == "--token-key");
        const bool of_both = name == "--card" && own != nullptr;
        if (!ring && !of_check && !of_both)
            return fmt::format("{} does nothing before {}", name, given->get_name());
        if (own != nullptr && own->count() != 0)
            return fmt::format("{} is given both before and after {}", name, given->get_name());
    }
    return {};
}

// What `check` was given, and would not look at; empty: all fits.
std::string wrong_for_check(const Options& options) {
    const bool of_ledger = options.analysis.device || options.analysis.at_ticket;
    if (!names_job(options.sources)) {
        if (!options.job.wish.empty()) return "--job is of a folder or several recordings";
        if (of_ledger && options.csv_path.empty()) return "--device and --at of check are of its --csv";
        return {};
    }
    if (options.json_path.empty() || !options.csv_path.empty())
        return "check of a job needs --receipt with the job's receipt, and has no --csv";
    if (of_ledger || options.import.card_bytes)
        return "--device, --at and --card are of one recording, and a job was named";
    return {};
}

CLI::App* add_reference(CLI::App& app, ReferenceOptions& options) {
    CLI::App* const reference =
        app.add_subcommand("reference", "print what --reference takes of a file: its kind, SHA-256 and size");
    reference->add_option("files", options.paths, "any files")->required()->check(kNotEmpty);
    reference->add_option("--kind", options.kind, "what they are, where the first bytes do not tell")
        ->check(
            CLI::IsMember(std::vector<std::string>(std::begin(kReferenceKinds), std::end(kReferenceKinds))));
    return reference;
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
    add_page(*diff, options.html_path, options.page);
    diff->add_flag("--no-names", options.names.hidden, "leave names out of the page");
    diff->add_flag("--force", options.force, "overwrite an existing output file");
    return diff;
}

CLI::App* add_triage(CLI::App& app, TriageOptions& options) {
    CLI::App* const triage =
        app.add_subcommand("triage", "find memory errors in a log, and say why they were");
    triage->add_option("log", options.log, "the log; without it, or with -, standard input")
        ->check(kNotEmpty);
    triage->add_option("--json", options.json_path, "write the incidents to this file; - is standard output")
        ->check(kNotEmpty);
    triage->add_flag("--force", options.force, "overwrite an existing output file");
    return triage;
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

std::unexpected<int> wrong_use(std::string_view what) {
    fmt::print(stderr, "memsnap-replay: {}\n", what);
    return std::unexpected(static_cast<int>(ErrorCode::usage));
}

}  // namespace

int on_standard_output(const Options& options) {
    return (options.json_path == "-") + (options.csv_path == "-") + (options.window_path == "-") +
           (options.collapsed_path == "-") + (options.pickle_path == "-") + (options.perfetto_path == "-") +
           (options.html_path == "-");
}

namespace {

std::vector<std::string> named(std::initializer_list<std::string> outputs) {
    std::vector<std::string> paths;
    for (const std::string& path : outputs) {
        if (!path.empty() && path != "-") paths.push_back(path);
    }
    return paths;
}

}  // namespace

std::vector<std::string> named_outputs(const Options& options) {
    return named({options.json_path, options.csv_path, options.window_path, options.collapsed_path,
                  options.pickle_path, options.perfetto_path, options.html_path});
}

std::vector<std::string> named_outputs(const ComparisonOptions& options) {
    return named({options.json_path, options.html_path});
}

std::expected<CommandLine, int> read_command_line(int argc, char** argv) {
    constexpr const char* kRingHelp = "the recording; without it the newest job of the working folder";
    constexpr const char* kSourcesHelp =
        "the recording, or those of a job: several, or their folder; without it the newest job here";
    CommandLine line;
    Options& options = line.options;
    CLI::App app{"Reads a recording of a GPU job's memory and says why it ran out of it.", "memsnap-replay"};
    app.footer(kExitCodes);
    app.require_subcommand(0, 1);
    app.set_version_flag("--version", MEMSNAP_VERSION);
    app.add_option("ring", options.sources, kSourcesHelp)->check(kNotEmpty);
    add_job(app, options.job);
    CLI::Option* const json =
        app.add_option("--json", options.json_path, "write the receipt to this file; - is standard output")
            ->check(kNotEmpty);
    app.add_option("--csv", options.csv_path, "write the event ledger to this file; - is standard output")
        ->check(kNotEmpty);
    app.add_option("--collapsed", options.collapsed_path,
                   "write live bytes by stack for flame graph tools to this file; - is standard output")
        ->check(kNotEmpty);
    std::vector<std::string> references;
    app.add_option("--reference", references, "name another artifact of the case in the receipt; repeatable")
        ->check(kReference)
        ->allow_extra_args(false)
        ->needs(json);
    app.add_option("--pickle", options.pickle_path,
                   "write a snapshot for PyTorch's memory_viz to this file; - is standard output")
        ->check(kNotEmpty);
    app.add_option("--perfetto", options.perfetto_path,
                   "write a trace for ui.perfetto.dev to this file; - is standard output")
        ->check(kNotEmpty);
    add_page(app, options.html_path, options.page);
    add_window(app, options);
    add_card(app, options.import);
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
    add_card(*dump, options.import);
    CLI::App* const validate = add_check(app, options);
    add_card(*validate, options.import);
    validate->add_option("ring", options.sources, kSourcesHelp)->check(kNotEmpty);
    CLI::App* const diff = add_diff(app, line.comparison);
    CLI::App* const reference = add_reference(app, line.reference);
    CLI::App* const triage = add_triage(app, line.triage);
    CLI::App* const import = add_import(app, line.import, options.import);
    CLI::App* const live = add_live(app, line.live);
    CLI::App* const ranges = add_ranges(app, line.ranges);
    // For those who make manual pages: ends the parsing, as --help does.
    const auto print_commands = [&app] {
        fmt::print("{}\n", command_table(app).text());
        throw CLI::Success();
    };
    app.add_flag_callback("--commands", print_commands, "print the table of commands and options")->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return std::unexpected(app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::usage));
    }
    if (const std::string wrong = misplaced(app, validate); !wrong.empty()) return wrong_use(wrong);
    const std::string wrong = validate->parsed()              ? wrong_for_check(options)
                              : app.get_subcommands().empty() ? wrong_for_sources(app, options.sources)
                                                              : std::string();
    if (!wrong.empty()) return wrong_use(wrong);
    if (dump->parsed() && names_job(options.sources))
        return wrong_use("dump reads one recording, and a job was named");
    if (same_name_twice(named_outputs(options)) || same_name_twice(named_outputs(line.comparison)))
        return wrong_use("two results cannot have one name");
    const bool both = line.comparison.json_path == "-" && line.comparison.html_path == "-";
    if (on_standard_output(options) > 1 || both)
        return wrong_use("only one result can be on standard output");
    for (const std::string& text : references) {
        Reference one = *parse_reference(text);
        if (std::ranges::find(options.references, one) != options.references.end())
            return wrong_use("one reference is given twice");
        options.references.push_back(std::move(one));
    }
    const bool of_job = names_job(options.sources);
    if (!of_job && !options.sources.empty()) options.ring = options.sources.front();
    if (of_job) line.task = Task::job;
    if (dump->parsed()) line.task = Task::dump;
    if (validate->parsed()) line.task = of_job ? Task::check_job : Task::check;
    if (diff->parsed()) line.task = Task::diff;
    if (reference->parsed()) line.task = Task::reference;
    if (triage->parsed()) line.task = Task::triage;
    if (import->parsed()) line.task = Task::import;
    if (live->parsed()) line.task = Task::live;
    if (ranges->parsed()) line.task = Task::ranges;
    return line;
}

}  // namespace memsnap
