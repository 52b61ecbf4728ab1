// SPDX-License-Identifier: Apache-2.0
//
// The blocks of the screen, top to bottom.
#include "diff_text.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>

#include <algorithm>

#include "names.h"
#include "report_sentence.h"
#include "report_text.h"

namespace memsnap {
namespace {

constexpr size_t kColumns = 100;

// Without its sign; what only a made-up receipt can hold is cut to 64 bits.
uint64_t magnitude(Wide value) {
    return static_cast<uint64_t>(std::min(value < 0 ? -value : value, Wide{UINT64_MAX}));
}

// "-3.61 GiB", "+512 B"
std::string size_of(Wide bytes, bool with_sign) {
    const bool negative = bytes < 0;
    const std::string text = size_text(magnitude(bytes));
    if (negative) return '-' + text;
    return with_sign && bytes > 0 ? '+' + text : text;
}

std::string count_of(Wide count, bool with_sign) {
    const bool negative = count < 0;
    const std::string text = grouped(magnitude(count));
    if (negative) return '-' + text;
    return with_sign && count > 0 ? '+' + text : text;
}

// Thousandths: 12345 boundaries in 1000 s are 12.345 a second.
std::string rate_of(Wide per_kilosecond, bool with_sign) {
    const bool negative = per_kilosecond < 0;
    const uint64_t size = magnitude(per_kilosecond);
    const std::string text = fmt::format("{}.{:03} /s", grouped(size / 1000), size % 1000);
    if (negative) return '-' + text;
    return with_sign && size > 0 ? '+' + text : text;
}

std::string spelt(std::string_view row, const std::optional<Wide>& value, bool with_sign) {
    if (!value) return "unknown";
    if (row == "boundaries_per_kilosecond") return rate_of(*value, with_sign);
    if (row.ends_with("_count")) return count_of(*value, with_sign);
    return size_of(*value, with_sign);
}

std::string_view label_of(std::string_view row) {
    constexpr std::pair<std::string_view, std::string_view> kLabels[] = {
        {"peak_active_bytes", "peak active"},
        {"peak_reserved_bytes", "peak reserved"},
        {"largest_free_extent_bytes", "largest hole at the failure"},
        {"outside_bytes", "outside PyTorch"},
        {"headroom_bytes", "headroom at the peak"},
        {"retained_bytes", "retained by earlier steps"},
        {"active_rise_bytes", "active over the last steps"},
        {"request_granted_count", "the request, granted"},
        {"boundaries_per_kilosecond", "steps a second"}};
    for (const auto& [name, label] : kLabels) {
        if (name == row) return label;
    }
    return row;
}

std::string provenance_of(const DiffRow& row) {
    const auto one = [](const Amount& amount) {
        return amount.known() ? name(amount.provenance) : name(Provenance::unknown);
    };
    const std::string_view before = one(row.before);
    const std::string_view after = one(row.after);
    if (before == after) return before == name(Provenance::unknown) ? "" : std::string(before);
    return fmt::format("{}, {}", before, after);
}

class Screen {
  public:
    Screen(const Diff& diff, const ReportStyle& style) : diff_(diff), style_(style) {}

    std::string run() {
        side("BEFORE", diff_.before);
        side("AFTER", diff_.after);
        line();
        headline();
        line();
        cohort();
        if (diff_.result == DiffResult::other_diagnosis) {
            verdict("BEFORE", diff_.before);
            verdict("AFTER", diff_.after);
            return std::move(out_);
        }
        rows();
        contract();
        return std::move(out_);
    }

  private:
    void line(std::string_view text = {}) {
        out_ += text;
        while (!out_.empty() && out_.back() == ' ')
            out_.pop_back();
        out_ += '\n';
    }

    static std::string cause_of(const SideIncident& incident) {
        if (!incident.answer.empty()) return incident.answer;
        for (const Hypothesis one : kHypotheses) {
            if (name(one) == incident.primary) return std::string(spoken(one));
        }
        return "cause undecided";
    }

    // Where it was not the recorder; and who told the card's size.
    static std::string tool_of(const DiffSide& side) {
        std::string text;
        if (side.origin == name(Origin::torch_snapshot)) text = ", from a snapshot of PyTorch's";
        if (side.origin == name(Origin::profiler_trace)) text = ", from a trace of PyTorch's profiler";
        if (side.origin == name(Origin::unknown)) text = ", from another program";
        if (side.total_stated) text += ", its card's size stated";
        return text;
    }

    void side(std::string_view label, const DiffSide& side) {
        std::string text = fmt::format("{:<7} {}", label, printable(side.label));
        if (!side.from_ring) text += ", a receipt";
        text += tool_of(side);
        if (side.incident) {
            text += fmt::format(": {}", cause_of(*side.incident));
            if (side.incident->request.known())
                text += fmt::format(", {} asked for", size_of(*side.incident->request.value, false));
            text += fmt::format(" on cuda:{}", side.incident->device);
            if (side.ending == Ending::survived) text += "; the job went on";
        } else {
            text += side.ending == Ending::lost ? ": a failure without evidence" : ": no incident";
        }
        line(text);
    }

    std::string_view another() const {
        if (diff_.before.ending == Ending::no_incident) return "AFTER ran out of memory, BEFORE did not";
        if (!has_cause(diff_.before) || !has_cause(diff_.after))
            return "AFTER ran out of memory too, and one of the causes is undecided";
        return "AFTER ran out of memory for another cause";
    }

    void headline() {
        struct Words {
            std::string_view head, tail;
            bool good;
        };
        const std::string_view changed =
            diff_.cohort.comparable() ? "" : "declare with --changed what was meant";
        constexpr std::string_view kOther = "the evidence is the same, the verdict is not";
        Words words = {};
        switch (diff_.result) {
            case DiffResult::other_diagnosis:
                words = {"OTHER DIAGNOSIS", kOther, false};
                break;
            case DiffResult::not_comparable:
                words = {"NOT COMPARABLE", changed, false};
                break;
            case DiffResult::incident_persists:
                words = {"INCIDENT PERSISTS", "AFTER ran out of memory for the same cause", false};
                break;
            case DiffResult::another_incident:
                words = {"ANOTHER INCIDENT", another(), false};
                break;
            case DiffResult::refuted:
                words = {"REFUTED", "AFTER shows the contrary of what the cause asks for", false};
                break;
            case DiffResult::proven:
                words = {"PROVEN", "AFTER shows what the cause of BEFORE asks for", true};
                break;
            case DiffResult::no_incident:
                words = {"NO INCIDENT", "on either side", true};
                break;
            case DiffResult::not_proven:
                words = {"NOT PROVEN", "what would prove it is unknown", false};
                break;
        }
        const std::string head = style_.colour
                                     ? fmt::format("\x1b[1;{}m{}\x1b[0m", words.good ? 32 : 31, words.head)
                                     : std::string(words.head);
        line(fmt::format("{}  {}", head, words.tail));
    }

    void cohort() {
        const Cohort& cohort = diff_.cohort;
        line(fmt::format("  same job?    {} facts equal, {} differ", cohort.equal_count,
                         cohort.differences.size()));
        for (const CohortDifference& one : cohort.differences) {
            line(fmt::format("    {:<10} {}: {} -> {}", one.declared ? "declared" : "undeclared", one.field,
                             one.before.text(), one.after.text()));
        }
        listed("    unchanged  ", cohort.declared_unchanged, "although declared");
        listed("    unknown    ", cohort.unknown, "on a side");
        line();
    }

    // Words after a label, continued under the first of them.
    void listed(std::string_view label, const std::vector<std::string>& words, std::string_view remark) {
        if (words.empty()) return;
        std::string text(label);
        for (size_t index = 0; index < words.size(); ++index) {
            const std::string word = index + 1 == words.size() ? fmt::format("{}  ({})", words[index], remark)
                                                               : words[index] + ", ";
            if (text.size() > label.size() && text.size() + word.size() > kColumns) {
                line(text);
                text.assign(label.size(), ' ');
            }
            text += word;
        }
        line(text);
    }

    void rows() {
        line(fmt::format("  {:<28} {:>13} {:>13} {:>13}", "", "before", "after", "difference"));
        for (const DiffRow& row : diff_.rows) {
            line(fmt::format("  {:<28} {:>13} {:>13} {:>13}  {}", label_of(row.name),
                             spelt(row.name, row.before.value, false),
                             spelt(row.name, row.after.value, false), spelt(row.name, row.difference(), true),
                             provenance_of(row)));
        }
        line("  correctness (losses, outputs): not measured");
        line();
    }

    void contract() {
        if (!diff_.contract) return;
        const Contract& contract = *diff_.contract;
        line(fmt::format("  prove  {}", contract.proof));
        line(fmt::format("  observed in AFTER: {}", contract.result == Proof::not_proven
                                                        ? std::string_view("not proven")
                                                        : name(contract.result)));
        bool first = true;
        for (const auto& alternative : contract.alternatives) {
            if (!first) line("    or");
            first = false;
            for (const Condition& one : alternative)
                condition(one);
        }
        model(*diff_.before.incident);
    }

    void condition(const Condition& one) {
        const std::string label = fmt::format("    {:<8} {}", name(one.truth), one.name);
        const std::string clause = one.clause ? inequality(*one.clause) : std::string();
        if (clause.empty() || label.size() + 2 + clause.size() <= kColumns) {
            line(clause.empty() ? label : label + "  " + clause);
        } else {
            line(label);
            line(fmt::format("{:<13}{}", "", clause));
        }
        if (!one.missing.empty()) line(fmt::format("{:<13}{}", "", one.missing));
    }

    // The arithmetic of ideal packing: why the fix should work, not that it did.
    void model(const SideIncident& failed) {
        if (!failed.margin.known() || !failed.threshold.known()) return;
        const ReportSymbols symbols(style_.utf8);
        const Wide margin = *failed.margin.value;
        const Wide threshold = *failed.threshold.value;
        line("  derived from BEFORE by ideal packing (a model, no proof)");
        line(fmt::format(
            "    margin {} {} {} {}{}", size_of(margin, false), margin >= threshold ? symbols.at_least : "<",
            symbols.tau, size_of(threshold, false),
            margin >= threshold
                ? ": in one piece the free bytes would have sufficed"
                : fmt::format(": {} were missing", size_of(failed.deficit.value.value_or(0), false))));
    }

    void verdict(std::string_view label, const DiffSide& side) {
        rapidjson::Document parsed;
        parsed.Parse(side.verdict.data(), side.verdict.size());
        rapidjson::StringBuffer buffer;
        rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
        writer.SetIndent(' ', 2);
        parsed.Accept(writer);
        line(fmt::format("verdict of {}", label));
        line({buffer.GetString(), buffer.GetSize()});
    }

    const Diff& diff_;
    const ReportStyle style_;
    std::string out_;
};

}  // namespace

std::string render_diff(const Diff& diff, const ReportStyle& style) {
    return Screen(diff, style).run();
}

}  // namespace memsnap
