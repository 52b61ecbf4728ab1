// SPDX-License-Identifier: Apache-2.0
//
// memsnap-oracle: the command line. Rule: documents go to stdout, everything else to stderr, and the exit
// code says which of both happened.
#include <fmt/format.h>
#include <sodium.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "command_table.h"
#include "files.h"
#include "job_folder.h"

namespace {

using oracle::printable;
using oracle::u64;

constexpr int kExitUsage = oracle::kExitUsage;
constexpr int kLastDevice = int{oracle::kPinnedDevices} - 1;
constexpr u64 kNsPerMs = 1'000'000;
constexpr u64 kHourMs = 3'600'000;

struct Line {
    std::vector<std::string> sources;
    std::string receipt_path;  ///< empty: print
    oracle::Choice choice;
    bool ids = false;
    std::string job;  ///< which one of a folder
    u64 clocks_within_ms = 128;
};

int report(const oracle::Error& error) {
    if (!error.rule.empty()) {
        fmt::print(stderr, "memsnap-oracle: {}: ticket {}, offset {}\n", error.rule,
                   error.ticket == oracle::kNoTicket ? std::string("none") : std::to_string(error.ticket),
                   error.offset);
    } else {
        fmt::print(stderr, "memsnap-oracle: {}\n", error.message);
    }
    return error.exit_code;
}

// Behind what the parser printed, too: whether that could be written the stream alone knows.
bool print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 &&
        std::ferror(stdout) == 0)
        return true;
    std::fputs("memsnap-oracle: cannot write to standard output\n", stderr);
    return false;
}

int tell(const std::string& receipt_path, const std::optional<oracle::Difference>& difference,
         std::string_view what) {
    if (!difference) return 0;
    const auto& [path, expected, found] = *difference;
    if (path.empty()) {
        fmt::print(stderr, "memsnap-oracle: {} {}\n", printable(receipt_path), found);
    } else {
        fmt::print(stderr, "memsnap-oracle: {}: {} {}, the receipt says {}\n", printable(path), what,
                   printable(expected), printable(found));
    }
    return oracle::kExitDisagreement;
}

// ---- of a job

int print_job(const oracle::JobFiles& files, const Line& line) {
    oracle::Stated stated;
    stated.clocks_within_ns = line.clocks_within_ms * kNsPerMs;
    auto receipt = oracle::job_receipt(files, stated);
    auto status = static_cast<int>(*receipt["exit_status"].number());
    return print(oracle::job_document(receipt).canonical() + "\n") ? status : oracle::kExitIo;
}

int run_job(const Line& line, const std::optional<std::string>& receipt) {
    auto files = oracle::find_job(line.sources, line.job);
    if (!files) return report(files.error());
    if (!receipt) return print_job(*files, line);
    return tell(line.receipt_path, oracle::compare_job(*receipt, *files), "the recordings say");
}

// ---- of one recording

int print_births(const oracle::Copy& copy, const oracle::Options& options) {
    auto births = oracle::known_allocations(copy.bytes, options);
    if (!births) return report(births.error());
    std::string text;
    for (auto birth : *births)
        text += fmt::format("{}\n", birth);
    return print(text) ? 0 : oracle::kExitIo;
}

int run_recording(const Line& line, const std::optional<std::string>& receipt) {
    const auto& path = line.sources.front();
    auto copy = oracle::copy_recording(path);
    if (!copy) return report(oracle::unreadable(path));
    auto options = copy->options();
    options.choice = line.choice;
    if (receipt) {
        auto difference = oracle::compare(*receipt, copy->bytes, options);
        return difference ? tell(line.receipt_path, *difference, "the ring says")
                          : report(difference.error());
    }
    if (line.ids) return print_births(*copy, options);
    auto result = oracle::examine(copy->bytes, options);
    if (!result) return report(result.error());
    return print(result->document.canonical() + "\n") ? result->exit_code : oracle::kExitIo;
}

int run(const Line& line) {
    std::optional<std::string> receipt;
    if (!line.receipt_path.empty()) {
        auto bytes = oracle::read_file(line.receipt_path);
        if (!bytes) return report(oracle::unreadable(line.receipt_path));
        receipt.emplace(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    }
    bool of_job = oracle::names_job(line.sources) || (receipt && oracle::is_job_receipt(*receipt));
    bool of_one = line.choice.device || line.choice.ticket || line.ids;
    if (of_job && of_one)
        return report({kExitUsage,
                       {},
                       oracle::kNoTicket,
                       0,
                       "--device, --at and --ids are of one recording, and a job was named"});
    return of_job ? run_job(line, receipt) : run_recording(line, receipt);
}

// For those who make the manual page: ends the parsing, as --help does.
void print_commands(const CLI::App& app) {
    std::fputs((oracle::command_table(app).canonical() + "\n").c_str(), stdout);
    throw CLI::Success();
}

const CLI::Validator kTicket(
    [](const std::string& text) {
        constexpr std::size_t kMostDigits = 19;
        bool number = !text.empty() && text.size() <= kMostDigits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
        return number ? std::string() : "not a ticket: " + printable(text);
    },
    "TICKET");

const CLI::Validator kNotEmpty(
    [](const std::string& text) { return text.empty() ? std::string("is empty") : std::string(); }, "");

}  // namespace

int main(int argc, char** argv) try {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is like a full disk
    CLI::App app(
        "Recomputes the evidence and verdict of a ring file, "
        "independently of memsnap-replay.",
        "memsnap-oracle");
    Line line;
    int device = -1;
    u64 ticket = 0;
    app.add_option("ring", line.sources, "the ring file, or those of a job: several, or their folder")
        ->required();
    auto* device_option =
        app.add_option("--device", device, "only failures of this device")->check(CLI::Range(0, kLastDevice));
    auto* ticket_option = app.add_option("--at", ticket, "only the failure with this ticket")->check(kTicket);
    auto* receipt_option = app.add_option("--receipt", line.receipt_path,
                                          "compare this receipt with the ring, "
                                          "or that of a job with the rings")
                               ->check(kNotEmpty);
    app.add_flag("--ids", line.ids, "print the birth tickets of every known allocation")
        ->excludes(receipt_option);
    auto* job_option =
        app.add_option("--job", line.job, "of the jobs in a folder this one: its number or key")
            ->check(kNotEmpty);
    auto* clocks_option = app.add_option("--clocks-within", line.clocks_within_ms,
                                         "what the clocks of two hosts differ at most, in ms")
                              ->capture_default_str()
                              ->check(CLI::Range(u64{0}, kHourMs))
                              ->excludes(receipt_option);
    app.add_flag_callback(
           "--commands", [&] { print_commands(app); }, "print the table of options")
        ->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (app.exit(error) != 0) return kExitUsage;
        return print({}) ? 0 : oracle::kExitIo;
    }
    if (::sodium_init() < 0) return oracle::kExitIo;
    if (*device_option) line.choice.device = device;
    if (*ticket_option) line.choice.ticket = ticket;
    if (!oracle::names_job(line.sources) && (*job_option || *clocks_option))
        return report({kExitUsage,
                       {},
                       oracle::kNoTicket,
                       0,
                       "--job and --clocks-within are of a folder or several recordings"});
    return run(line);
} catch (const std::system_error&) {  // by fmt::print, of standard error
    return oracle::kExitIo;
} catch (const std::bad_alloc&) {
    return report({oracle::kExitIo, {}, oracle::kNoTicket, 0, "not enough memory for this file"});
}
