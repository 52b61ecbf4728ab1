// SPDX-License-Identifier: Apache-2.0
//
// Clauses in words.
#include "report_sentence.h"

#include <fmt/format.h>

#include <utility>

namespace memsnap {
namespace {

using enum Hypothesis;

std::string signed_text(int64_t hundredths, const ReportSymbols& symbols) {
    std::string text = hundredths_text(hundredths);
    if (text.starts_with('-')) text.replace(0, 1, symbols.minus);
    return text;
}

std::string gib(Wide bytes, const ReportSymbols& symbols) {
    return signed_text(hundredths(bytes), symbols);
}

std::string_view symbol(Relation relation, const ReportSymbols& symbols) {
    switch (relation) {
        case Relation::greater:
            return ">";
        case Relation::at_least:
            return symbols.at_least;
        case Relation::less:
            return "<";
        case Relation::at_most:
            return symbols.at_most;
    }
    return "";
}

std::string spoken_term(const Term& term, const ReportSymbols& symbols) {
    constexpr std::pair<std::string_view, std::string_view> kSpoken[] = {
        {"largest_free_extent", "largest hole "},
        {"request", ""},
        {"fragmented_free", "fragmented "},
        {"removable_outside", "removable outside "},
        {"retained", "retained "},
        {"deficit", "deficit "},
        {"contribution_floor", "floor "}};
    for (const auto& [name, words] : kSpoken) {
        if (term.name == name) return std::string(words) + gib(term.value, symbols);
    }
    return fmt::format("{} {}", symbols.tau, gib(term.value, symbols));
}

// What available, active and request come to has one name; rounded as margin_sentence() rounds it.
std::string side(const std::vector<Term>& terms, const ReportSymbols& symbols) {
    if (terms.size() == 1) return spoken_term(terms.front(), symbols);
    int64_t margin = 0;
    for (const Term& term : terms)
        margin += term.subtracted ? -hundredths(term.value) : hundredths(term.value);
    return "margin " + signed_text(margin, symbols);
}

std::string clause_sentence(const Clause& clause, const ReportSymbols& symbols) {
    return fmt::format("{} {} {}", side(clause.left, symbols), symbol(clause.relation, symbols),
                       side(clause.right, symbols));
}

// A relief whose ends differ: both of them, and what they would have had to reach.
std::string range_sentence(std::string_view label, Wide low, Wide high, const Numbers& n,
                           const ReportSymbols& symbols) {
    const bool room = n.margin >= n.threshold;
    return fmt::format("{} between {} and {}, {} {}", label, gib(low, symbols), gib(high, symbols),
                       room ? "floor" : "deficit", gib(room ? n.contribution_floor : n.deficit, symbols));
}

// The clauses that decided: an explanation states all of them, a line has room for these.
std::vector<Clause> deciding_clauses(const Incident& incident, Hypothesis one) {
    const std::vector<Clause>& all = incident.explanations[static_cast<unsigned>(one)].clauses;
    const Status status = incident.verdict.of(one).status;
    const Numbers& n = *incident.verdict.numbers;
    const bool room = n.margin >= n.threshold;
    switch (one) {
        case live_set:
            return {all.back()};
        case retention:
        case external:
            return {room || status == Status::contributing ? all.back() : all.front()};
        case fragmentation:
            if (status == Status::rejected || all.size() == 1) return {all.front()};
            return room ? all : std::vector<Clause>{all.front(), all.back()};
    }
    return all;
}

std::string_view answer_sentence(const Verdict& verdict) {
    const Qualifiers& q = verdict.qualifiers;
    if (q.has(Qualifier::deferred_free)) return "a fitting hole was freed only while the request was failing";
    if (q.has(Qualifier::fit_ignored)) return "a fitting hole was there and was not used";
    if (q.has(Qualifier::driver_refused)) return "the driver refused although the device had room";
    if (q.has(Qualifier::cache_hoarding)) return "PyTorch's cache held what the library needed";
    return "PyTorch's cache held what the library needed and could not give it back";
}

std::string_view open_sentence(const Verdict& verdict) {
    const Qualifiers& q = verdict.qualifiers;
    if (q.has(Qualifier::corrupt_size)) return "undecided: the request's size is corrupt";
    if (q.has(Qualifier::inconsistent_numbers)) return "undecided: the numbers contradict each other";
    if (q.has(Qualifier::fit_unexplained)) return "undecided: a hole that may fit was not used";
    return "undecided: the evidence does not suffice";
}

}  // namespace

std::string_view spoken(Hypothesis hypothesis) {
    return hypothesis == live_set ? "live-set" : name(hypothesis);
}

std::string cause_sentence(const Incident& incident, const ReportSymbols& symbols) {
    const Verdict& verdict = incident.verdict;
    if (verdict.answered) return std::string(answer_sentence(verdict));
    const auto primary = verdict.primary();
    if (!primary) return std::string(open_sentence(verdict));
    const Numbers& n = *verdict.numbers;
    const auto text = [&](Wide bytes) { return gib(bytes, symbols); };
    switch (*primary) {
        case live_set:
            return fmt::format("live-set pressure: {} GiB in use and {} GiB more asked, {} GiB available",
                               text(n.active), text(n.request), text(n.available));
        case retention:
            return fmt::format("retention: {} GiB of earlier steps were still live, {} GiB were lacking",
                               text(n.retained), text(n.deficit));
        case fragmentation:
            return fmt::format("fragmentation: {} GiB were free, the largest usable hole was {}",
                               text(n.available - n.active),
                               size_text(incident.evidence.extents.largest_not_excluded));
        case external:
            return fmt::format("external pressure: {} GiB held outside PyTorch, {} GiB were lacking",
                               text(n.removable), text(n.deficit));
    }
    return {};
}

std::string finding_sentence(const Incident& incident, Hypothesis one, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return "the numbers settle nothing";
    const Numbers& n = *incident.verdict.numbers;
    std::string text;
    if (one == retention && n.retained != n.retained_high) {
        text = range_sentence("retained", n.retained, n.retained_high, n, symbols);
    } else if (one == external && n.removable != n.removable_high) {
        text = range_sentence("removable", n.removable, n.removable_high, n, symbols);
    } else if (one == retention && incident.verdict.of(one).status == Status::undecidable) {
        // The number alone would read as a rejection.
        text = fmt::format("retained {} by steps that were only guessed, deficit {}",
                           gib(n.retained, symbols), gib(n.deficit, symbols));
    } else {
        for (const Clause& clause : deciding_clauses(incident, one)) {
            if (!text.empty()) text += " and ";
            text += clause_sentence(clause, symbols);
        }
    }
    return text + " GiB";
}

std::string unexcluded_sentence(const Incident& incident, const ReportSymbols& symbols) {
    const Verdict& verdict = incident.verdict;
    if (!verdict.numbers || verdict.primary() != live_set) return {};
    const Numbers& n = *verdict.numbers;
    const bool open = verdict.of(retention).status == Status::undecidable && n.retained_high >= n.deficit;
    if (!open) return {};
    return fmt::format("unless up to {} GiB of it outlived an earlier step: retention is not excluded",
                       gib(n.retained_high, symbols));
}

std::string deficit_sentence(const Incident& incident, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return {};
    const Numbers& n = *incident.verdict.numbers;
    if (n.margin >= n.threshold) return {};
    return fmt::format("deficit {} GiB = {} {} margin: what a relief would have had to bring",
                       gib(n.deficit, symbols), symbols.tau, symbols.minus);
}

std::string margin_sentence(const Incident& incident, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return "margin and threshold are unknown";
    const Numbers& n = *incident.verdict.numbers;
    const int64_t available = hundredths(n.available);
    const int64_t active = hundredths(n.need - n.request);
    const int64_t request = hundredths(n.request);
    return fmt::format("margin {} GiB = {} available {} {} active {} {} asked; {} {} GiB (1.5% of the card)",
                       signed_text(available - active - request, symbols), hundredths_text(available),
                       symbols.minus, hundredths_text(active), symbols.minus, hundredths_text(request),
                       symbols.tau, gib(n.threshold, symbols));
}

}  // namespace memsnap
