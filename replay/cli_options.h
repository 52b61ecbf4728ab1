// SPDX-License-Identifier: Apache-2.0
//
// The options of the command line, and which of them go together. The rule: what is wrong with them is said
// here, before anything is read.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "analysis.h"
#include "cli_import.h"
#include "cli_live.h"
#include "cli_names.h"
#include "cli_ranges.h"
#include "cli_triage.h"
#include "cut.h"
#include "diff.h"
#include "dump.h"
#include "job_roles.h"
#include "page_events.h"
#include "reference.h"

namespace memsnap {

// What a page holds.
struct PageChoice {
    uint32_t events_count = kPageEvents_most;
};

// The `diff` subcommand's.
struct ComparisonOptions {
    std::string before, after;
    std::string json_path;
    std::string html_path;
    PageChoice page;
    NameOptions names;
    bool force = false;
    DiffOptions diff;
};

// The `reference` subcommand's.
struct ReferenceOptions {
    std::vector<std::string> paths;
    std::string kind;  // empty: by the files' first bytes
};

// Of a folder, or of several recordings.
struct JobTaskOptions {
    std::string wish;  // which job of the folder; empty: the newest
    std::string receipts_folder;
    uint64_t clocks_within_ms = kClocksWithin_ns / 1'000'000;

    uint64_t clocks_within_ns() const { return clocks_within_ms * 1'000'000; }
};

struct Options {
    std::string ring;                  // empty: the newest job of the working folder
    std::vector<std::string> sources;  // as they were named
    JobTaskOptions job;
    std::string json_path;
    std::string csv_path;
    std::string window_path;
    std::string collapsed_path;
    std::string pickle_path;
    std::string perfetto_path;
    std::string html_path;
    PageChoice page;
    CutBounds window;
    bool force = false;
    NameOptions names;
    References references;
    ImportOptions import;
    std::optional<size_t> sites_count;
    AnalysisOptions analysis;
    DumpOptions dump;
    bool dump_header = false;
    bool dump_state = false;
};

enum class Task {
    verdict,
    job,
    check_job,
    dump,
    check,
    diff,
    reference,
    triage,
    import,
    live,
    ranges
};

struct CommandLine {
    Task task = Task::verdict;
    Options options;
    ComparisonOptions comparison;  // of diff, which has none of the others
    ReferenceOptions reference;    // likewise
    TriageOptions triage;          // of triage, likewise
    ImportTaskOptions import;      // of import, likewise
    LiveTaskOptions live;          // of live, likewise
    RangesOptions ranges;          // of ranges, likewise
};

// The exit status instead: help was wanted, or the options are wrong; both have been printed.
std::expected<CommandLine, int> read_command_line(int argc, char** argv);

// How many results go there instead of the report.
int on_standard_output(const Options& options);
// The files that results go to.
std::vector<std::string> named_outputs(const Options& options);
std::vector<std::string> named_outputs(const ComparisonOptions& options);

}  // namespace memsnap
