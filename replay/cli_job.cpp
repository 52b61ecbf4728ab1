// SPDX-License-Identifier: Apache-2.0
//
// Finds the files, reads the job, writes receipts and the screen.
#include "cli_job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "cli_results.h"
#include "job.h"
#include "job_check.h"
#include "job_json.h"
#include "job_text.h"
#include "output_file.h"
#include "receipt.h"
#include "report_sites.h"

namespace memsnap {
namespace {

constexpr std::string_view kRepeats = "of a recording that is here already";

struct Chosen {
    std::vector<JobFile> files;
    std::vector<Error> damaged;  // of an unknown job
    JobLabel label;
};

Error usage(const std::string& file, std::string detail, std::string way_out) {
    return {.code = ErrorCode::usage,
            .file = file,
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = "job",
            .detail = std::move(detail),
            .way_out = std::move(way_out)};
}

bool is_folder(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

// What is no recording may be a file of PyTorch's tools, which has no head to look at.
JobFile named_file(const std::string& path) {
    JobFile file;
    file.path = path;
    if (const auto facts = Capture::read_facts(path)) file.header = facts->header;
    std::error_code error;
    file.written = std::filesystem::last_write_time(path, error);
    return file;
}

std::string listed(const std::vector<FoundJob>& jobs, size_t chosen) {
    std::string others;
    for (size_t index = 0; index < jobs.size(); ++index) {
        if (index == chosen) continue;
        others += fmt::format("; --job {}: {}, {}", index + 1, text_of(jobs[index].key),
                              counted(jobs[index].files.size(), "file"));
    }
    return fmt::format("{} of {} jobs, newest first{}", chosen + 1, jobs.size(), others);
}

// By ordinal, newest first, or by the key as the screen shows it.
Result<size_t> chosen_job(const std::vector<FoundJob>& jobs, const std::string& wish,
                          const std::string& folder) {
    if (wish.empty()) return size_t{0};
    for (size_t index = 0; index < jobs.size(); ++index) {
        if (wish == std::to_string(index + 1) || wish == text_of(jobs[index].key)) return index;
    }
    return failure(usage(folder, "has no job " + printable(wish) + ": " + listed(jobs, jobs.size()),
                         "--job takes the number or the key of one of them"));
}

void add_left_out(uint64_t count, std::string_view one, std::string_view many, std::string& choice) {
    if (count == 0) return;
    if (!choice.empty()) choice += "; ";
    choice +=
        count == 1 ? fmt::format("1 other file {}", one) : fmt::format("{} other files {}", count, many);
}

// The last part of its path that is a name.
std::string folder_name(const std::string& path) {
    const auto whole = std::filesystem::path(path).lexically_normal();
    const auto name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
    return name.empty() ? path : name.string();
}

Result<Chosen> choose_files(const Options& options) {
    Chosen chosen;
    std::vector<JobFile> found;
    uint64_t foreign_count = 0;
    bool any_folder = false;
    for (const std::string& source : options.sources) {
        if (!is_folder(source)) {
            found.push_back(named_file(source));
            continue;
        }
        any_folder = true;
        FoundFiles files = find_recordings(source, kJobFolders_depth);
        std::ranges::move(files.recordings, std::back_inserter(found));
        std::ranges::move(files.damaged, std::back_inserter(chosen.damaged));
        foreign_count += files.foreign_count;
    }
    const std::string& first = options.sources.front();
    chosen.label.source =
        options.sources.size() == 1 ? folder_name(first) : counted(options.sources.size(), "file");
    if (found.empty() && !chosen.damaged.empty()) return failure(chosen.damaged.front());
    if (found.empty())
        return failure(usage(first, "holds no recording", "give the folder that MEMSNAP_OUT names"));
    const uint64_t repeated_count = drop_repeats(found);
    std::vector<FoundJob> jobs = jobs_of(std::move(found));
    if (!any_folder) {
        if (jobs.size() > 1)
            chosen.label.choice =
                fmt::format("recordings of {} jobs, taken as one since they were named", jobs.size());
        for (FoundJob& job : jobs)
            std::ranges::move(job.files, std::back_inserter(chosen.files));
        add_left_out(repeated_count, kRepeats, kRepeats, chosen.label.choice);
        return chosen;
    }
    const auto index = chosen_job(jobs, options.job.wish, first);
    if (!index) return failure(index.error());
    if (jobs.size() > 1) chosen.label.choice = listed(jobs, *index);
    add_left_out(repeated_count, kRepeats, kRepeats, chosen.label.choice);
    add_left_out(foreign_count, "is no recording", "are no recordings", chosen.label.choice);
    chosen.label.job = text_of(jobs[*index].key);
    chosen.files = std::move(jobs[*index].files);
    return chosen;
}

Result<std::string> receipt_text(const Recording& recording, const Analysis& analysis,
                                 const Options& options) {
    const auto known = known_names(recording.capture, options.names);
    if (!known) return failure(known.error());
    return write_receipt(recording.capture, analysis, (*known)->naming, references_of(recording, options));
}

// Where it failed, and the largest site.
std::vector<std::string> places_of(const Capture& capture, const Analysis& analysis, const Options& options,
                                   const ReportStyle& style) {
    const auto known = known_names(capture, options.names);
    if (!known) return {};
    SiteNames names((*known)->shown());
    const SiteReport sites(capture, analysis, names, style, (*known)->naming);
    return sites.failing_place();
}

JobReading reading_of(const Options& options, const ReportStyle& style) {
    JobReading reading;
    reading.utf8 = style.utf8;
    reading.keep_receipts = !options.job.receipts_folder.empty();
    reading.write_places = [&options, style](const Capture& capture, const Analysis& analysis) {
        return places_of(capture, analysis, options, style);
    };
    if (!options.json_path.empty() || reading.keep_receipts) {
        reading.write_receipt = [&options](const Recording& recording, const Analysis& analysis) {
            return receipt_text(recording, analysis, options);
        };
    }
    return reading;
}

// ---- results

Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    return failure({.code = ErrorCode::io,
                    .file = path,
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "writable",
                    .detail = fmt::format("cannot be made: {}", std::strerror(errno)),
                    .way_out = "give a folder that can be written to"});
}

// rank-3.json, the second one of that rank rank-3-2.json; process-2.json without a rank.
std::string receipt_name(const Job& job, size_t process, std::set<std::string>& taken) {
    const auto& rank = job.processes[process].header.rank;
    const std::string stem = rank ? fmt::format("rank-{}", *rank) : fmt::format("process-{}", process + 1);
    std::string name = stem + ".json";
    for (int number = 2; !taken.insert(name).second; ++number)
        name = fmt::format("{}-{}.json", stem, number);
    return name;
}

Result<void> write_receipts(const Job& job, const Options& options, const Inputs& inputs) {
    const std::string& folder = options.job.receipts_folder;
    if (const auto made = make_folder(folder); !made) return failure(made.error());
    std::vector<std::string> paths;
    std::set<std::string> taken;
    for (size_t process = 0; process < job.processes.size(); ++process)
        paths.push_back((std::filesystem::path(folder) / receipt_name(job, process, taken)).string());
    if (const auto possible = can_write_all(paths, options.force, inputs); !possible) return possible;
    for (size_t process = 0; process < job.processes.size(); ++process) {
        const std::string& text = job.processes[process].receipt;
        if (text.empty()) continue;
        if (const auto written = write_output(paths[process], text, options.force, inputs); !written)
            return written;
    }
    return {};
}

Inputs inputs_of(const std::vector<JobFile>& files) {
    Inputs inputs;
    for (const JobFile& file : files)
        inputs.push_back(file.path);
    return inputs;
}

int write_job(const Job& job, const Options& options, const Inputs& inputs) {
    return write_each({
        {options.json_path,
         [&]() -> Result<void> {
             const auto text = write_job_receipt(job);
             if (!text) return failure(text.error());
             return write_output(options.json_path, *text, options.force, inputs);
         }},
        {options.job.receipts_folder, [&] { return write_receipts(job, options, inputs); }},
    });
}

Job read_chosen(Chosen& chosen, const JobOptions& options) {
    Job job = read_job(std::move(chosen.files), options);
    std::ranges::move(chosen.damaged, std::back_inserter(job.unread));
    return job;
}

}  // namespace

bool names_job(const std::vector<std::string>& sources) {
    return sources.size() > 1 || (sources.size() == 1 && is_folder(sources.front()));
}

Result<int> run_job(const Options& options, const ReportStyle& style) {
    auto chosen = choose_files(options);
    if (!chosen) return failure(chosen.error());
    const Inputs inputs = inputs_of(chosen->files);
    if (const auto possible = can_write_all(named_outputs(options), options.force, inputs); !possible)
        return failure(possible.error());
    if (const auto key = chosen_key(options.names); !key) return failure(key.error());
    const Job job = read_chosen(*chosen, {{options.job.clocks_within_ns()}, reading_of(options, style)});
    const int status = write_job(job, options, inputs);
    if (options.json_path != "-") fmt::print("{}", render_job(job, chosen->label, style));
    return status == 0 ? exit_status(job) : status;
}

Result<int> check_job(const Options& options) {
    const auto clocks = stated_clocks(options.json_path);
    if (!clocks) return failure(clocks.error());
    auto chosen = choose_files(options);
    if (!chosen) return failure(chosen.error());
    const Job job = read_chosen(*chosen, {*clocks, reading_of(options, {})});
    const auto text = check_job_file(job, options.json_path);
    if (!text) return failure(text.error());
    fmt::print("{}", *text);
    return 0;
}

}  // namespace memsnap
