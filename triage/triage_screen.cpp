// SPDX-License-Identifier: Apache-2.0
//
// Incidents by process, each process's first failure first; then what was not recognised.
#include "triage_screen.h"

#include <fmt/format.h>

#include <filesystem>

#include "advice.h"
#include "names.h"
#include "report_sentence.h"
#include "report_text.h"

namespace memsnap {
namespace {

constexpr size_t kIncidentsShown_most = 32;
constexpr size_t kQuotesShown_most = 16;
constexpr size_t kQuoteLines_most = 4;
constexpr size_t kFindingIndent = 30;

// Whether some number of the sentences may be another one than is printed.
bool is_interval(const Evidence& evidence) {
    const Measure& asked = evidence.request.known() ? evidence.request : evidence.segment_request;
    return !asked.exact() || !evidence.total.exact() || !evidence.device_free.exact();
}

class Screen {
  public:
    Screen(const Triage& triage, const ReportStyle& style)
        : triage_(triage), style_(style), symbols_(style.utf8) {}

    std::string run(const std::string& log_name) {
        head(log_name);
        for (uint64_t process = 1; process <= triage_.process_count; ++process)
            one_process(process);
        if (shown_ == kIncidentsShown_most && triage_.incidents.size() > shown_)
            line(fmt::format("{} errors more: --json lists them", triage_.incidents.size() - shown_));
        unrecognised();
        refusals();
        recordings();
        return std::move(out_);
    }

  private:
    void line(std::string_view text = {}) {
        out_ += text;
        out_ += '\n';
    }

    std::string emphasised(std::string_view text, bool alarming) const {
        if (!style_.colour) return std::string(text);
        return fmt::format("\x1b[1;{}m{}\x1b[0m", alarming ? 31 : 33, text);
    }

    void head(const std::string& log_name) {
        constexpr size_t kNameColumns = 40;
        const std::string file =
            log_name.empty() ? "standard input" : std::filesystem::path(log_name).filename().string();
        const LogFindings& log = triage_.log;
        size_t errors = triage_.incidents.size();
        const size_t others = log.unrecognised.size();
        if (errors + others == 0) errors = log.recordings.size();
        std::string found = errors == 0 ? "no memory error" : counted(errors, "memory error");
        if (others != 0)
            found += fmt::format("{}, {} not recognised", errors == 0 ? " of a known format" : "",
                                 grouped(others));
        line(fmt::format("{}  {} in {}, {} bytes",
                         cut_to_columns(shown_text(file, letters(style_.utf8)), kNameColumns), found,
                         counted(log.line_count, "line"), grouped(log.bytes_read)));
        if (log.omitted_count != 0)
            line(fmt::format("{} more were counted and left out", counted(log.omitted_count, "error")));
    }

    static std::string writer(const TriagedIncident& one) {
        std::string text;
        const LogLabel& label = one.message.place.label;
        if (label.rank) text += fmt::format("rank {}, ", *label.rank);
        if (label.process_id) text += fmt::format("pid {}, ", *label.process_id);
        if (one.message.device) text += fmt::format("device {}, ", *one.message.device);
        return text;
    }

    void one_process(uint64_t process) {
        bool followed = false;
        for (const TriagedIncident& one : triage_.incidents) {
            if (one.process != process || shown_ == kIncidentsShown_most) continue;
            ++shown_;
            line();
            if (followed) line("followed in this process by");
            followed = true;
            incident(one);
        }
    }

    void incident(const TriagedIncident& one) {
        std::string head = fmt::format("{}. {}line {}, format {}", one.order, writer(one),
                                       grouped(one.message.place.line), name(one.message.format));
        if (one.message.seen_count > 1)
            head += fmt::format(", seen {} times", grouped(one.message.seen_count));
        line(head);
        quote(one.message.quote);
        line("  " + emphasised(cause(one), one.incident().verdict.exit_status() == 10));
        if (one.incident().verdict.numbers) {
            line("  " + margin_sentence(one.incident(), symbols_));
            if (is_interval(one.incident().evidence))
                line("  numbers are those of the least that the printed ones can stand for");
            for (const Hypothesis hypothesis : kHypotheses)
                finding(one.incident(), hypothesis);
        }
        qualifiers(one.incident().verdict);
        notes(one);
        advice(one);
    }

    static std::string cause(const TriagedIncident& one, const ReportSymbols& symbols) {
        const Incident& incident = one.incident();
        if (one.kind == "fragmentation_or_deferred_free")
            return "fragmentation, or frees that wait for a stream: the text cannot tell them apart";
        if (incident.verdict.primary() == Hypothesis::fragmentation) {
            const Numbers& n = *incident.verdict.numbers;
            return fmt::format("fragmentation: {} were free and not in one piece, {} were asked for",
                               amount_text(n.available - n.active, symbols), amount_text(n.request, symbols));
        }
        if (!incident.verdict.numbers && incident.verdict.qualifiers.names().size() <= 1 &&
            !incident.verdict.qualifiers.has(Qualifier::corrupt_size)) {
            return "undecided: the text does not hold the numbers";
        }
        return cause_sentence(incident, symbols);
    }
    std::string cause(const TriagedIncident& one) const { return cause(one, symbols_); }

    void finding(const Incident& incident, Hypothesis hypothesis) {
        const Finding& found = incident.verdict.of(hypothesis);
        line(fmt::format("  {:<15} {:<{}}{}", spoken(hypothesis), name(found.status), kFindingIndent - 18,
                         finding_sentence(incident, hypothesis, symbols_)));
    }

    void qualifiers(const Verdict& verdict) {
        const auto names = verdict.qualifiers.names();
        if (!names.empty()) line(fmt::format("  qualifiers: {}", fmt::join(names, ", ")));
    }

    void notes(const TriagedIncident& one) {
        if (!one.message.complete && one.message.asked.known()) line("  the message is cut off");
        if (one.statistics_line)
            line(fmt::format("  with the statistics of line {}, of the same instant", *one.statistics_line));
        if (one.other_statistics_line)
            line(fmt::format("  the statistics of line {} are of another instant",
                             *one.other_statistics_line));
        if (one.grew)
            line("  more was allocated than at the failure before: growth, and no evidence of retention");
        if (!one.missing.empty()) {
            std::string text;
            for (const Missing what : one.missing) {
                if (!text.empty()) text += ", ";
                text += name(what);
            }
            line("  missing: " + text);
        }
    }

    void advice(const TriagedIncident& one) {
        const Incident& incident = one.incident();
        std::string_view fix;
        if (const auto primary = incident.verdict.primary()) {
            fix = incident.explanations[static_cast<unsigned>(*primary)].fix;
        } else if (incident.verdict.answered) {
            fix = advise_answer(incident.verdict).fix;
        }
        if (!fix.empty()) wrapped("  try: ", fix);
        if (!one.next.empty()) wrapped("  next: ", one.next);
    }

    // In lines of at most the report's columns, at most so many.
    void wrapped(std::string_view label, std::string_view text, size_t lines_most = SIZE_MAX) {
        std::string indent(label.size(), ' ');
        std::string head(label);
        for (size_t lines = 1; !text.empty(); ++lines) {
            const size_t room = kReportColumns - head.size();
            if (text.size() <= room) return line(head + std::string(text));
            if (lines == lines_most) return line(head + cut_to_columns(text, room));
            size_t end = text.rfind(' ', room);
            if (end == std::string_view::npos || end == 0) end = room;
            line(head + std::string(text.substr(0, end)));
            text.remove_prefix(end);
            while (text.starts_with(' '))
                text.remove_prefix(1);
            head = indent;
        }
    }

    void quote(const std::string& text) {
        wrapped("  | ", shown_text(text, Letters::ascii), kQuoteLines_most);
    }

    void unrecognised() {
        size_t shown = 0;
        for (const LogUnrecognised& one : triage_.log.unrecognised) {
            if (shown++ == kQuotesShown_most) {
                const size_t left = triage_.log.unrecognised.size() - kQuotesShown_most;
                line(fmt::format("{} more that were not recognised", grouped(left)));
                return;
            }
            line();
            const bool host =
                one.kind == Unrecognised::host_memory || one.kind == Unrecognised::host_oom_kill;
            std::string head = fmt::format("not recognised, line {}: {}", grouped(one.place.line),
                                           host ? "memory of the host, not of a device" : "no known format");
            if (one.seen_count > 1) head += fmt::format(", seen {} times", grouped(one.seen_count));
            line(head);
            quote(one.quote);
        }
    }

    void refusals() {
        if (triage_.refusals.empty()) return;
        line();
        line(fmt::format("{} that no error followed, the first in line {}: PyTorch went on",
                         counted(triage_.refusals.size(), "refused device call"),
                         grouped(triage_.refusals.front().place.line)));
    }

    void recordings() {
        if (triage_.log.recordings.empty()) return;
        line();
        line(fmt::format(
            "line {}: memsnap recorded an error of this log: replay that recording, it tells more",
            grouped(triage_.log.recordings.front().place.line)));
    }

    const Triage& triage_;
    const ReportStyle& style_;
    const ReportSymbols symbols_;
    std::string out_;
    size_t shown_ = 0;
};

}  // namespace

std::string render_triage(const Triage& triage, const std::string& log_name, const ReportStyle& style) {
    return Screen(triage, style).run(log_name);
}

}  // namespace memsnap
