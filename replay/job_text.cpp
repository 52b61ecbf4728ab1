// SPDX-License-Identifier: Apache-2.0
//
// The screen's blocks, top to bottom.
#include "job_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "job_rows.h"
#include "shown_text.h"

namespace memsnap {
namespace {

constexpr size_t kUnreadShown_most = 3;
constexpr size_t kPlaces_most = 3;
constexpr size_t kSourceColumns = 40;
constexpr size_t kIndent = 15;  // of what the headline says

// Where a line of so many columns may end; 0: nowhere.
size_t last_space(std::string_view sentence, size_t columns_most) {
    size_t space = sentence.rfind(' ');
    while (space != std::string_view::npos && space != 0 &&
           columns_of(sentence.substr(0, space)) > columns_most)
        space = sentence.rfind(' ', space - 1);
    return space == std::string_view::npos ? 0 : space;
}

class JobScreen {
  public:
    JobScreen(const Job& job, const JobLabel& label, const ReportStyle& style)
        : job_(job), label_(label), style_(style), symbols_(style.utf8) {}

    std::string run() {
        head();
        headline();
        line();
        if (!job_.processes.empty()) block(job_rows(job_, symbols_));
        skew();
        notes();
        return std::move(out_);
    }

  private:
    void line(std::string_view text = {}) {
        out_ += cut_to_columns(text, kReportColumns + unseen_bytes_);
        while (!out_.empty() && out_.back() == ' ')
            out_.pop_back();
        out_ += '\n';
        unseen_bytes_ = 0;
    }

    void block(const std::vector<std::string>& lines) {
        for (const std::string& text : lines)
            line(text);
        if (!lines.empty()) line();
    }

    // A word in capitals and what it says, in as many lines as that takes.
    void say(std::string_view title, std::string_view sentence, bool alarming = true) {
        std::string text = fmt::format("{:<{}}", title, kIndent);
        if (style_.colour && !title.empty()) {
            const std::string coloured = fmt::format("\x1b[1;{}m{}\x1b[0m", alarming ? 31 : 32, title);
            unseen_bytes_ = coloured.size() - title.size();
            text.replace(0, title.size(), coloured);
        }
        wrap(std::move(text), sentence, kIndent);
    }

    void wrap(std::string text, std::string_view sentence, size_t indent) {
        while (columns_of(text) + columns_of(sentence) > kReportColumns + unseen_bytes_) {
            const size_t space = last_space(sentence, kReportColumns + unseen_bytes_ - columns_of(text));
            if (space == 0) break;
            line(text + std::string(sentence.substr(0, space)));
            sentence.remove_prefix(space + 1);
            text.assign(indent, ' ');
        }
        line(text + std::string(sentence));
    }

    void head() {
        std::string text = cut_to_columns(shown_text(label_.source, letters(style_.utf8)), kSourceColumns);
        if (!label_.job.empty()) text += "  job " + label_.job;
        text += "  " + counted(job_.processes.size(), "process");
        if (job_.processes.size() != 1) text.replace(text.size() - 8, 8, "processes");
        if (job_.world_size) text += fmt::format(", {} of {} ranks", job_.rank_count, *job_.world_size);
        if (job_.host_count > 0) text += ", " + counted(job_.host_count, "host");
        line(text);
        if (!label_.choice.empty()) line(label_.choice);
        line();
    }

    // ---- who was first

    void headline() {
        const JobProcess* const first = job_.first();
        if (first == nullptr) return nothing_failed();
        const size_t index = *job_.roles.first;
        const bool victim = job_.roles.parts[index].role == JobRole::victim;
        if (!job_.roles.first_is_told) {
            say("OUT OF MEMORY", untold_sentence());
        } else {
            say(victim ? "FIRST, A VICTIM" : "FIRST TO FAIL", first_sentence(*first));
        }
        if (victim) say("CULPRIT", culprit_sentence(index));
        if (!first->failure) {
            say("CAUSE", "not decidable: nothing of the failure can be read any more");
            return read_more(index);
        }
        say("", first->failure->event);
        say("CAUSE", first->failure->cause);
        for (size_t at = 0; at < std::min(first->failure->places.size(), kPlaces_most); ++at)
            line(first->failure->places[at]);
        if (!first->failure->fix.empty()) say("TRY", first->failure->fix, false);
        read_more(index);
    }

    void nothing_failed() {
        const bool any =
            std::ranges::any_of(job_.processes, [](const JobProcess& one) { return !one.error; });
        if (any) {
            say("NO FAILURE", "nothing ran out of memory in what could be read", false);
        } else {
            say("UNREADABLE", "none of the recordings could be read");
        }
    }

    // Never cut: it is a command.
    void read_more(size_t process) {
        const std::string path = shown_text(job_.processes[process].path, letters(style_.utf8));
        out_ += fmt::format("{:<{}}memsnap-replay {}\n", "MORE", kIndent, path);
    }

    std::vector<size_t> others_that_failed() const {
        std::vector<size_t> list;
        for (size_t process = 0; process < job_.processes.size(); ++process) {
            const JobRole role = job_.roles.parts[process].role;
            const bool failed = role == JobRole::failed || role == JobRole::victim;
            if (failed && process != *job_.roles.first) list.push_back(process);
        }
        return list;
    }

    std::string first_sentence(const JobProcess& first) const {
        std::string text = rank_text(job_, *job_.roles.first);
        if (first.device) text += fmt::format(" on cuda:{}", *first.device);
        if (const auto since = first_of_job(); since && first.failure && first.failure->time_ns >= since)
            text += fmt::format(", {} after the job was first seen",
                                duration_text(*first.failure->time_ns - *since));
        const std::vector<size_t> others = others_that_failed();
        if (others.empty()) return text + "; no other ran out of memory";
        const auto next = std::ranges::min_element(others, {}, [&](size_t process) {
            const auto& failure = job_.processes[process].failure;
            return failure && failure->time_ns ? *failure->time_ns : UINT64_MAX;
        });
        const auto& failure = job_.processes[*next].failure;
        if (!failure) return text;
        return text + fmt::format("; {} at {}", rank_text(job_, *next),
                                  apart_text(failure->time_ns, job_.instant_ns));
    }

    std::optional<uint64_t> first_of_job() const {
        std::optional<uint64_t> first_ns;
        for (const JobProcess& one : job_.processes) {
            if (one.first_seen_ns) first_ns = std::min(first_ns.value_or(UINT64_MAX), *one.first_seen_ns);
        }
        return first_ns;
    }

    std::string untold_sentence() const {
        std::vector<size_t> all = job_.roles.rivals;
        all.push_back(*job_.roles.first);
        std::string text = ranks_text(job_, all, 60) + ": which was first cannot be told";
        if (const auto apart_ns = rivals_apart_ns())
            text += fmt::format(", they are {} apart", duration_text(*apart_ns));
        return text + "; below: " + rank_text(job_, *job_.roles.first);
    }

    // From the earliest to the latest that may have been the first; nullopt where one has no time.
    std::optional<uint64_t> rivals_apart_ns() const {
        if (!job_.instant_ns) return std::nullopt;
        uint64_t last_ns = *job_.instant_ns;
        for (const size_t rival : job_.roles.rivals) {
            const auto& failure = job_.processes[rival].failure;
            if (!failure || !failure->time_ns) return std::nullopt;
            last_ns = std::max(last_ns, *failure->time_ns);
        }
        return last_ns - *job_.instant_ns;
    }

    std::string culprit_sentence(size_t victim) const {
        const auto& held_by = job_.roles.parts[victim].held_by;
        if (held_by.empty()) return "another process of this job held the card; it has no recording here";
        std::string text;
        for (const HeldBy& one : held_by) {
            if (!text.empty()) text += ", ";
            text += fmt::format("{} held {} of the card", rank_text(job_, one.process), size_text(one.bytes));
        }
        return text;
    }

    // ---- how they differ

    void skew() {
        if (job_.skew.empty()) return;
        line(fmt::format(
            "  {:<31} {:>12} {:<8} {:>12} {:>14} {:<8}",
            job_.instant == JobInstant::failure ? "at the first failure" : "at each one's own peak", "least",
            "", "median", "most", ""));
        for (const JobSkew& one : job_.skew) {
            const std::string_view label =
                one.ledger == JobLedger::device_used ? "device used" : name(one.ledger);
            line(fmt::format("    {:<29} {:>12} {:<8} {:>12} {:>14} {:<8}{}", label,
                             size_text(one.least_bytes), short_rank(one.least_process),
                             size_text(one.median_bytes), size_text(one.most_bytes),
                             short_rank(one.most_process), known_text(one.known_count)));
        }
        growth();
        line();
    }

    std::string short_rank(size_t process) const {
        const auto& rank = job_.processes[process].header.rank;
        return rank ? fmt::format("r{}", *rank) : fmt::format("p{}", process + 1);
    }

    std::string known_text(uint64_t known_count) const {
        return known_count == job_.processes.size() ? "" : fmt::format(" of {} known", known_count);
    }

    // Over the last five steps of each.
    void growth() {
        constexpr int kPairs_count = 5;
        std::vector<std::pair<Wide, size_t>> rises;
        for (size_t process = 0; process < job_.processes.size(); ++process) {
            if (const auto rise = job_.processes[process].steps.rise_bytes)
                rises.emplace_back(*rise / kPairs_count, process);
        }
        if (rises.size() < 2) return;
        std::ranges::sort(rises);
        const auto text = [&](Wide bytes) {
            return bytes == 0 ? std::string("0 B") : amount_text(bytes, symbols_);
        };
        line(fmt::format("    {:<29} {:>12} {:<8} {:>12} {:>14} {:<8}{}", "active, growth a step",
                         text(rises.front().first), short_rank(rises.front().second),
                         text(rises[(rises.size() - 1) / 2].first), text(rises.back().first),
                         short_rank(rises.back().second), known_text(rises.size())));
    }

    // ---- what else there is to know

    void notes() {
        std::string missing;
        for (const auto& [first, last] : job_.missing) {
            missing += missing.empty() ? "" : ", ";
            missing += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
        }
        if (!missing.empty()) note("missing", "no recording here of ranks " + missing);
        if (job_.roles.clocks_compared) {
            note("clocks",
                 fmt::format("failures of several hosts are put in order by their clocks, taken to be "
                             "within {} ms",
                             job_.clocks_within_ns / 1'000'000));
        }
        std::vector<size_t> again;
        for (size_t process = 0; process < job_.processes.size(); ++process) {
            if (job_.processes[process].earlier_count != 0) again.push_back(process);
        }
        if (!again.empty())
            note("earlier", "recordings besides, of processes that were armed again: " +
                                ranks_text(job_, again, kReportColumns / 2));
        std::vector<const Error*> errors;
        for (const JobProcess& one : job_.processes) {
            if (one.error) errors.push_back(&*one.error);
        }
        for (const Error& one : job_.unread)
            errors.push_back(&one);
        for (size_t at = 0; at < std::min(errors.size(), kUnreadShown_most); ++at)
            unread(*errors[at]);
        if (errors.size() > kUnreadShown_most)
            note("unread", fmt::format("and {} more", errors.size() - kUnreadShown_most));
    }

    void note(std::string_view label, std::string_view text) {
        line(fmt::format("  {:<8} {}", label, shown_text(text, letters(style_.utf8))));
    }

    // Why is never cut: of a long name the middle gives way, and what is longer still goes on below.
    void unread(const Error& error) {
        constexpr size_t kNoteIndent = 11;
        constexpr size_t kRoom = kReportColumns - kNoteIndent;
        const std::string why = ": " + shown_text(error.detail, letters(style_.utf8));
        const size_t name_columns = kRoom - std::min(columns_of(why), kRoom - kSourceColumns);
        const std::string name =
            cut_in_the_middle(shown_text(error.file, letters(style_.utf8)), name_columns);
        wrap(fmt::format("  {:<8} ", "unread"), name + why, kNoteIndent);
    }

    const Job& job_;
    const JobLabel& label_;
    const ReportStyle style_;
    const ReportSymbols symbols_;
    size_t unseen_bytes_ = 0;
    std::string out_;
};

}  // namespace

std::string render_job(const Job& job, const JobLabel& label, const ReportStyle& style) {
    return JobScreen(job, label, style).run();
}

}  // namespace memsnap
