// SPDX-License-Identifier: Apache-2.0
//
// Rows of one process and of many.
#include "job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report_sentence.h"
#include "shown_text.h"

namespace memsnap {
namespace {

constexpr size_t kRowsUnfolded_most = 16;
constexpr size_t kOwnRows_most = 10;  // where rows are folded
constexpr size_t kGroups_most = 6;
constexpr size_t kWhatColumns = 33;

std::string exit_text(const JobProcess& process) {
    if (!process.header.exit_ticket) return "killed";
    return fmt::format("exit {}", process.header.exit_status);
}

std::string_view error_text(ErrorCode code) {
    if (code == ErrorCode::not_memsnap) return "unreadable: no recording";
    return code == ErrorCode::corrupt ? "unreadable: corrupt" : "unreadable";
}

std::string_view order_suffix(JobOrder order) {
    if (order == JobOrder::before) return ", before it";
    return order == JobOrder::untold ? ", order not told" : "";
}

class Rows {
  public:
    Rows(const Job& job, const ReportSymbols& symbols) : job_(job), symbols_(symbols) {}

    std::vector<std::string> run() {
        head();
        std::vector<size_t> all(job_.processes.size());
        for (size_t process = 0; process < all.size(); ++process)
            all[process] = process;
        if (all.size() <= kRowsUnfolded_most) {
            for (const size_t process : all)
                row(process);
        } else {
            folded(all);
        }
        return std::move(lines_);
    }

  private:
    void head() {
        lines_.push_back(fmt::format("  {:>6} {}{:<{}} {:>10} {:>9} {:>9} {:>9} {:>9}", "rank",
                                     host_cell("host"), job_.roles.first ? "what became of it" : "its end",
                                     kWhatColumns, "at", "active", "reserved", "outside", "used GiB"));
    }

    std::string host_cell(std::string_view text) const {
        return job_.host_count > 1 ? fmt::format("{:>4} ", text) : std::string();
    }

    std::string what_of(size_t process) const {
        const JobProcess& one = job_.processes[process];
        const JobPart& part = job_.roles.parts[process];
        switch (part.role) {
            case JobRole::failed_first:
                return fmt::format("failed first: {}", cause_word(one));
            case JobRole::failed:
                return fmt::format("failed: {}", cause_word(one));
            case JobRole::victim:
                if (part.held_by.empty()) return "victim of its own job";
                return fmt::format("victim of {}", rank_text(job_, part.held_by.front().process));
            case JobRole::followed:
                return fmt::format("followed: {}", exit_text(one));
            case JobRole::killed:
            case JobRole::ended: {
                const std::string_view role = one.header.exit_ticket ? "ended: " : "";
                const std::string_view order = part.order == JobOrder::after ? "" : order_suffix(part.order);
                return fmt::format("{}{}{}", role, exit_text(one), order);
            }
            case JobRole::running:
                return "running";
            case JobRole::no_end_seen:
                return part.order == JobOrder::after ? "no end seen, lived on after it" : "no end seen";
            case JobRole::disarmed:
                return "disarmed, its end not recorded";
            case JobRole::dormant:
                return "dormant: not armed";
            case JobRole::unreadable:
                return std::string(error_text(one.error->code));
        }
        return {};
    }

    std::optional<uint64_t> instant_of(size_t process) const {
        const JobProcess& one = job_.processes[process];
        const JobRole role = job_.roles.parts[process].role;
        const bool failing =
            role == JobRole::failed_first || role == JobRole::failed || role == JobRole::victim;
        return failing && one.failure ? one.failure->time_ns : one.last_seen_ns;
    }

    std::string at_of(size_t process) const {
        if (!job_.roles.first || process == *job_.roles.first) return "";
        return apart_text(instant_of(process), job_.instant_ns);
    }

    std::string ledgers(const std::array<std::optional<uint64_t>, kJobLedgers.size()>& bytes) const {
        std::string text;
        for (const auto& one : bytes)
            text += one ? fmt::format(" {:>9}", signed_text(hundredths(*one), symbols_))
                        : fmt::format(" {:>9}", "-");
        return text;
    }

    void row(size_t process) {
        const auto& rank = job_.processes[process].header.rank;
        const uint32_t host = job_.hosts[process];
        lines_.push_back(fmt::format("  {:>6} {}{:<{}} {:>10}{}", rank ? std::to_string(*rank) : "-",
                                     host_cell(host == 0 ? "-" : std::to_string(host)),
                                     cut_to_columns(what_of(process), kWhatColumns), kWhatColumns,
                                     at_of(process), ledgers(job_.levels[process].bytes)));
    }

    // What a reader looks for: failures, who held a card, and who has least and most.
    std::vector<size_t> remarkable() const {
        std::vector<size_t> list;
        const auto add = [&](size_t process) {
            if (std::ranges::find(list, process) == list.end() && list.size() < kOwnRows_most)
                list.push_back(process);
        };
        if (job_.roles.first) add(*job_.roles.first);
        for (size_t process = 0; process < job_.processes.size(); ++process) {
            const JobPart& part = job_.roles.parts[process];
            if (part.role == JobRole::victim) add(process);
            for (const HeldBy& held : part.held_by)
                add(held.process);
        }
        for (const JobSkew& skew : job_.skew) {
            if (skew.least_bytes == skew.most_bytes) continue;
            add(skew.most_process);
            add(skew.least_process);
        }
        for (size_t process = 0; process < job_.processes.size(); ++process) {
            if (job_.roles.parts[process].role == JobRole::failed) add(process);
        }
        std::ranges::sort(list);
        return list;
    }

    void folded(const std::vector<size_t>& all) {
        const std::vector<size_t> own = remarkable();
        std::map<std::string, std::vector<size_t>> groups;
        for (const size_t process : all) {
            if (!std::ranges::binary_search(own, process)) groups[what_of(process)].push_back(process);
        }
        for (const size_t process : own)
            row(process);
        std::vector<std::pair<std::string, std::vector<size_t>>> by_size(groups.begin(), groups.end());
        std::ranges::stable_sort(by_size, std::greater(),
                                 [](const auto& group) { return group.second.size(); });
        std::vector<size_t> others;
        for (size_t index = 0; index < by_size.size(); ++index) {
            const auto& [what, members] = by_size[index];
            if (index < kGroups_most) {
                group(what, members);
            } else {
                others.insert(others.end(), members.begin(), members.end());
            }
        }
        if (!others.empty()) group("otherwise", others);
    }

    void group(const std::string& what, const std::vector<size_t>& members) {
        std::array<std::optional<uint64_t>, kJobLedgers.size()> medians;
        for (const JobLedger ledger : kJobLedgers) {
            std::vector<uint64_t> known;
            for (const size_t process : members) {
                if (const auto bytes = job_.levels[process].of(ledger)) known.push_back(*bytes);
            }
            std::ranges::sort(known);
            if (!known.empty()) medians[static_cast<size_t>(ledger)] = known[(known.size() - 1) / 2];
        }
        lines_.push_back(fmt::format("  {:>6} {}{:<{}} {:>10}{}", fmt::format("{} x", members.size()),
                                     host_cell(""), cut_to_columns(what, kWhatColumns), kWhatColumns,
                                     "median", ledgers(medians)));
        lines_.push_back("         " + ranks_text(job_, members, kReportColumns - 9));
    }

    const Job& job_;
    const ReportSymbols& symbols_;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> job_rows(const Job& job, const ReportSymbols& symbols) {
    return Rows(job, symbols).run();
}

std::string rank_text(const Job& job, size_t process) {
    const auto& rank = job.processes[process].header.rank;
    return rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", process + 1);
}

std::string ranks_text(const Job& job, const std::vector<size_t>& processes, size_t columns_most) {
    std::set<int64_t> numbers;
    bool ranked = true;
    for (const size_t process : processes)
        ranked = ranked && job.processes[process].header.rank;
    for (const size_t process : processes)
        numbers.insert(ranked ? *job.processes[process].header.rank : static_cast<int64_t>(process) + 1);
    std::string text;
    for (auto from = numbers.begin(); from != numbers.end();) {
        auto to = from;
        while (std::next(to) != numbers.end() && *std::next(to) == *to + 1)
            ++to;
        text += text.empty() ? "" : ", ";
        text += from == to ? fmt::format("{}", *from) : fmt::format("{}-{}", *from, *to);
        from = std::next(to);
    }
    const std::string_view noun = ranked ? "rank" : "process";
    const std::string_view plural = numbers.size() == 1 ? "" : ranked ? "s" : "es";
    return cut_to_columns(fmt::format("{}{} {}", noun, plural, text), columns_most);
}

std::string apart_text(std::optional<uint64_t> time_ns, std::optional<uint64_t> base_ns) {
    if (!time_ns || !base_ns) return "-";
    const bool before = *time_ns < *base_ns;
    const uint64_t apart_ns = before ? *base_ns - *time_ns : *time_ns - *base_ns;
    return (before ? "-" : "+") + duration_text(apart_ns);
}

std::string_view cause_word(const JobProcess& process) {
    if (!process.failure) return "evidence lost";
    for (const Hypothesis one : kHypotheses) {
        if (name(one) == process.failure->primary) return spoken(one);
    }
    return process.verdict_exit_status == 10 ? "see its report" : "undecided";
}

}  // namespace memsnap
