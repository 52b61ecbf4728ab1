// SPDX-License-Identifier: Apache-2.0
//
// Clauses in words.
#include "report_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "policy.h"

namespace memsnap {
namespace {

using enum Hypothesis;

// Of one sentence: all in GiB, said once at the end, unless that would print next to nothing of one of them.
class Amounts {
  public:
    Amounts(const std::vector<Wide>& all_bytes, const ReportSymbols& symbols)
        : symbols_(symbols), own_units_(std::ranges::any_of(all_bytes, is_next_to_nothing)) {}

    std::string text(Wide bytes) const {
        return own_units_ ? amount_text(bytes, symbols_) : signed_text(hundredths(bytes), symbols_);
    }
    std::string_view at_end() const { return own_units_ ? "" : " GiB"; }

  private:
    const ReportSymbols& symbols_;
    const bool own_units_;
};

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

std::string spoken_term(const Term& term, const Amounts& amounts, const ReportSymbols& symbols) {
    constexpr std::pair<std::string_view, std::string_view> kSpoken[] = {
        {"largest_free_extent", "largest hole "},
        {"request", ""},
        {"fragmented_free", "fragmented "},
        {"removable_outside", "removable outside "},
        {"retained", "retained "},
        {"deficit", "deficit "},
        {"contribution_floor", "floor "}};
    for (const auto& [name, words] : kSpoken) {
        if (term.name == name) return std::string(words) + amounts.text(term.value);
    }
    return fmt::format("{} {}", symbols.tau, amounts.text(term.value));
}

Wide sum_of(const std::vector<Term>& terms) {
    Wide sum = 0;
    for (const Term& term : terms)
        sum += term.subtracted ? -term.value : term.value;
    return sum;
}

// A sum in one unit, whose parts are rounded one by one, so that what is printed adds up.
struct Sum {
    explicit Sum(const std::vector<Term>& terms)
        : small(is_next_to_nothing(sum_of(terms))), unit_bytes(small ? kMiB_bytes : kGiB_bytes) {
        for (const Term& term : terms)
            rounded +=
                term.subtracted ? -hundredths(term.value, unit_bytes) : hundredths(term.value, unit_bytes);
    }
    std::string_view unit() const { return small ? " MiB" : " GiB"; }

    bool small = false;
    Wide unit_bytes = 0;
    int64_t rounded = 0;
};

// What available, active and request come to has one name; rounded as margin_sentence() rounds it.
std::string side(const std::vector<Term>& terms, const Amounts& amounts, const ReportSymbols& symbols) {
    if (terms.size() == 1) return spoken_term(terms.front(), amounts, symbols);
    const Sum sum(terms);
    std::string text = "margin " + signed_text(sum.rounded, symbols);
    if (amounts.at_end().empty()) text += sum.unit();
    return text;
}

std::string clauses_sentence(const std::vector<Clause>& clauses, const ReportSymbols& symbols) {
    std::vector<Wide> sides;
    for (const Clause& clause : clauses) {
        sides.push_back(sum_of(clause.left));
        sides.push_back(sum_of(clause.right));
    }
    const Amounts amounts(sides, symbols);
    std::string text;
    for (const Clause& clause : clauses) {
        if (!text.empty()) text += " and ";
        text += fmt::format("{} {} {}", side(clause.left, amounts, symbols), symbol(clause.relation, symbols),
                            side(clause.right, amounts, symbols));
    }
    return text.append(amounts.at_end());
}

// A relief whose ends differ: both of them, and what they would have had to reach.
std::string range_sentence(std::string_view label, Wide low, Wide high, const Numbers& n,
                           const ReportSymbols& symbols) {
    const bool room = n.margin >= n.threshold;
    const Wide reach = room ? n.contribution_floor : n.deficit;
    const Amounts amounts({low, high, reach}, symbols);
    return fmt::format("{} between {} and {}, {} {}{}", label, amounts.text(low), amounts.text(high),
                       room ? "floor" : "deficit", amounts.text(reach), amounts.at_end());
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

std::string_view open_sentence(const Evidence& evidence, const Verdict& verdict) {
    const Qualifiers& q = verdict.qualifiers;
    if (q.has(Qualifier::corrupt_size)) return "undecided: the request's size is corrupt";
    if (q.has(Qualifier::inconsistent_numbers)) return "undecided: the numbers contradict each other";
    if (q.has(Qualifier::fit_unexplained)) return "undecided: a hole that may fit was not used";
    if (q.has(Qualifier::births_unknown))
        return "undecided: when part of what is live was allocated is not known";
    if (!evidence.total.known()) return "undecided: the card's size is unknown";
    return "undecided: the evidence does not suffice";
}

// Of a card whose size nobody told the numbers are those of the smallest that it can be.
bool card_is_open(const Incident& incident) {
    return incident.verdict.numbers && !incident.evidence.total.known();
}

// Threshold and deficit of the largest card that it can be.
Wide highest_threshold(const Incident& incident) {
    const Wide least = Wide{incident.evidence.reserved.low} + incident.evidence.device_free.low;
    return std::max(least, Wide{policy::kLargestCard_bytes}) * Wide{policy::kThreshold_permille} / 1000;
}

// Rounded as margin_sentence() rounds it.
int64_t rounded_margin(const Numbers& n) {
    const Sum sum(
        {{"available", n.available, false}, {"need", n.need - n.request, true}, {"asked", n.request, true}});
    return sum.small ? hundredths(n.margin) : sum.rounded;
}

std::string open_card_sentence(const Incident& incident, Hypothesis one, const ReportSymbols& symbols) {
    const Numbers& n = *incident.verdict.numbers;
    const Wide most = highest_threshold(incident);
    const auto text = [&](Wide bytes) { return signed_text(hundredths(bytes), symbols); };
    switch (one) {
        case live_set:
        case fragmentation:
            return fmt::format("margin {}, {} between {} and {} GiB", signed_text(rounded_margin(n), symbols),
                               symbols.tau, text(n.threshold), text(most));
        case retention:
            return fmt::format("{} {}, deficit between {} and {} GiB",
                               n.retained == n.retained_high ? "retained" : "retained at most",
                               text(n.retained_high), text(n.deficit),
                               text(std::max(Wide{0}, most - n.margin)));
        case external:
            return fmt::format("outside PyTorch unknown, at least {} were lacking",
                               amount_text(n.deficit, symbols));
    }
    return {};
}

}  // namespace

std::string_view spoken(Hypothesis hypothesis) {
    return hypothesis == live_set ? "live-set" : name(hypothesis);
}

std::string_view step_word(const Incident& incident) {
    return incident.boundaries.family == BoundaryFamily::module ? "call" : "step";
}

std::string asked_sentence(const Incident& incident) {
    const Evidence& evidence = incident.evidence;
    std::string text = "asked for " + size_text(incident.failure.event.size_bytes);
    const bool own_segment = evidence.allocator == FailedAllocator::pytorch &&
                             !evidence.expandable_segments && evidence.segment_request.known();
    if (!own_segment) return text;
    const std::string segment = "asked for " + size_text(evidence.segment_request.low);
    if (segment != text) text += ", in a segment of " + size_text(evidence.segment_request.low);
    return text;
}

std::string cause_sentence(const Incident& incident, const ReportSymbols& symbols) {
    const Verdict& verdict = incident.verdict;
    if (verdict.answered) return std::string(answer_sentence(verdict));
    const auto primary = verdict.primary();
    if (!primary) return std::string(open_sentence(incident.evidence, verdict));
    const Numbers& n = *verdict.numbers;
    const auto text = [&](Wide bytes) { return amount_text(bytes, symbols); };
    switch (*primary) {
        case live_set:
            return fmt::format("live-set pressure: {} in use and {} more asked, {} available", text(n.active),
                               text(n.request), text(n.available));
        case retention:
            return fmt::format("retention: {} of earlier {}s were still live, {} were lacking",
                               text(n.retained), step_word(incident), text(n.deficit));
        case fragmentation:
            return fmt::format("fragmentation: {} were free, the largest usable hole was {}",
                               text(n.available - n.active),
                               size_text(incident.evidence.extents.largest_not_excluded));
        case external:
            return fmt::format("external pressure: {} held outside PyTorch, {} were lacking",
                               text(n.removable), text(n.deficit));
    }
    return {};
}

std::string finding_sentence(const Incident& incident, Hypothesis one, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return "the numbers settle nothing";
    const Numbers& n = *incident.verdict.numbers;
    if (card_is_open(incident) && incident.verdict.of(one).status == Status::undecidable)
        return open_card_sentence(incident, one, symbols);
    if (one == retention && n.retained != n.retained_high)
        return range_sentence("retained", n.retained, n.retained_high, n, symbols);
    if (one == external && n.removable != n.removable_high)
        return range_sentence("removable", n.removable, n.removable_high, n, symbols);
    if (one == retention && incident.verdict.of(one).status == Status::undecidable) {
        // The number alone would read as a rejection.
        const Amounts amounts({n.retained, n.deficit}, symbols);
        return fmt::format("retained {} by steps that were only guessed, deficit {}{}",
                           amounts.text(n.retained), amounts.text(n.deficit), amounts.at_end());
    }
    return clauses_sentence(deciding_clauses(incident, one), symbols);
}

std::string unexcluded_sentence(const Incident& incident, const ReportSymbols& symbols) {
    const Verdict& verdict = incident.verdict;
    if (!verdict.numbers || verdict.primary() != live_set) return {};
    const Numbers& n = *verdict.numbers;
    const bool open = verdict.of(retention).status == Status::undecidable && n.retained_high >= n.deficit;
    if (!open) return {};
    return fmt::format("unless up to {} of it outlived an earlier {}: retention is not excluded",
                       amount_text(n.retained_high, symbols), step_word(incident));
}

std::string deficit_sentence(const Incident& incident, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return {};
    const Numbers& n = *incident.verdict.numbers;
    if (n.margin >= n.threshold) return {};
    return fmt::format("deficit {}{} = {} {} margin: what a relief would have had to bring",
                       card_is_open(incident) ? "at least " : "", amount_text(n.deficit, symbols),
                       symbols.tau, symbols.minus);
}

std::string margin_sentence(const Incident& incident, const ReportSymbols& symbols) {
    if (!incident.verdict.numbers) return "margin and threshold are unknown";
    const Numbers& n = *incident.verdict.numbers;
    const std::vector<Term> terms = {
        {"available", n.available, false}, {"active", n.need - n.request, true}, {"asked", n.request, true}};
    const Sum sum(terms);
    std::string text = fmt::format("margin {}{} =", signed_text(sum.rounded, symbols), sum.unit());
    for (const Term& term : terms) {
        if (term.subtracted) text += fmt::format(" {}", symbols.minus);
        text += fmt::format(" {} {}", hundredths_text(hundredths(term.value, sum.unit_bytes)), term.name);
    }
    const bool open = card_is_open(incident);
    text += fmt::format("; {} {}{}", symbols.tau, open ? "at least " : "",
                        sum.small ? amount_text(n.threshold, symbols)
                                  : signed_text(hundredths(n.threshold), symbols) + " GiB");
    const std::string_view share = open ? " (1.5% of a card of unknown size)" : " (1.5% of the card)";
    constexpr size_t kIndent = 2;
    return kIndent + columns_of(text) + share.size() <= kReportColumns ? text.append(share) : text;
}

}  // namespace memsnap
