// SPDX-License-Identifier: Apache-2.0
//
// All combinations of interval ends (VERDICT.md §8). Rule: a status or qualifier stands when every
// combination that does not contradict itself shares it; the numbers printed are those of the low ends.
#include "decide.h"

#include <iterator>

#include "thresholds.h"

namespace oracle {
namespace {

// Where the card's size is not known: both ends, and between them the sizes at which a status may turn.
std::vector<Int> totals_tried(const Question& q, const std::optional<Int>& cap) {
    using namespace thresholds;
    if (q.total_bytes) return {*q.total_bytes};
    Int low = q.reserved_bytes + *q.device_free_bytes, high = std::max(low, kLargestCardBytes);
    Int margin = numbers_of(q, {low, *q.device_free_bytes, cap, false, q.retained_low()}).margin;
    Int above_margin = (kPerMille * (margin + 1) + kThresholdPerMille - 1) / kThresholdPerMille;
    Int unremarkable = low + kOutsideAllowanceBytes;
    if (q.others_bytes) unremarkable += *q.others_bytes + q.named_bytes;
    std::vector<Int> turns{unremarkable, high};
    if (margin >= 0) turns.push_back(above_margin);
    std::vector<Int> totals{low};
    for (auto total : turns) {
        if (total > low && total <= high) totals.push_back(total);
    }
    return totals;
}

// Where births are not known: the low end, between the ends where a status may turn, and the high end.
std::vector<Int> retained_tried(const Question& q, const Ends& ends) {
    Int low = q.retained_low(), high = q.retained_high();
    if (!q.judges_growth()) return {low};
    auto n = numbers_of(q, ends);
    Int slow = std::max(-n.margin, n.threshold / thresholds::kContributionDivisor);
    std::vector<Int> all{low};
    for (Int turn : {n.floor, slow, n.deficit - n.removable, n.removable, n.deficit, high}) {
        if (turn > low && turn <= high) all.push_back(turn);
    }
    return all;
}

// Low ends first.
std::vector<Ends> combinations(const Question& q) {
    std::vector<Int> frees;
    if (q.device_free_bytes) {
        frees = {*q.device_free_bytes};
    } else {
        Int high = less(*q.total_bytes, q.reserved_bytes);
        if (q.device_call == DeviceCall::kFailed)
            high = std::min(high, std::max<Int>(0, q.segment_request_bytes - 1));
        frees = {0, high};
    }
    bool implied = q.victim == Victim::kPytorch && !q.cap_bytes && q.device_free_bytes &&
                   *q.device_free_bytes >= q.segment_request_bytes && q.device_call != DeviceCall::kFailed;
    std::vector<std::optional<Int>> caps{q.cap_bytes};
    if (implied) caps = {q.reserved_bytes, q.reserved_bytes + q.segment_request_bytes - 1};
    std::vector<Ends> all;
    for (auto free : frees) {
        for (const auto& cap : caps) {
            for (auto total : totals_tried(q, cap)) {
                Ends ends{total, free, cap, implied, q.retained_low()};
                for (auto retained : retained_tried(q, ends)) {
                    ends.retained = retained;
                    all.push_back(ends);
                }
            }
        }
    }
    return all;
}

Words shared(const Words& a, const Words& b) {
    Words both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
}

std::array<Int, kHypotheses> margins_of(const Numbers& n, Int retained, Int removable) {
    std::array<Int, kHypotheses> margins{};
    margins[kFragmentation] = n.margin - n.threshold;
    if (n.margin >= n.threshold) {
        margins[kLiveSet] = margins[kRetention] = margins[kExternal] = n.threshold - n.margin;
    } else {
        margins[kLiveSet] = n.deficit - std::max(n.retained, n.removable);
        margins[kRetention] = retained - n.deficit;
        margins[kExternal] = removable - n.deficit;
    }
    return margins;
}

void widen(std::array<std::optional<Margin>, kHypotheses>& margins,
           const std::array<Int, kHypotheses>& more) {
    for (std::size_t i = 0; i < kHypotheses; ++i) {
        auto& margin = margins[i];
        if (!margin) margin = Margin{more[i], more[i]};
        margin->low = std::min(margin->low, more[i]);
        margin->high = std::max(margin->high, more[i]);
    }
}

// What is not known is a fact about the recording, so it is judged once, on the shared statuses and the
// printed numbers.
void qualify_missing(const Question& q, Decision& decision) {
    auto& retention = decision.opinions[kRetention];
    auto& external = decision.opinions[kExternal];
    if (q.victim == Victim::kPytorch && !q.deferred_known)
        decision.qualifiers.insert("deferred_free_not_excluded");
    bool marked_module_calls = q.basis == Basis::kMarked && q.points_are_module_calls;
    if (q.basis == Basis::kCertified || q.basis == Basis::kUncertified || marked_module_calls)
        retention.qualifiers.insert("inferred");
    if (!decision.numbers) return;
    const auto& n = *decision.numbers;
    if (retention.standing == Standing::kUndecidable) {
        if (q.basis == Basis::kUncertified && n.deficit > 0 && n.retained_upper >= n.deficit)
            decision.qualifiers.insert("growth_unmarked");
        if (q.judges_growth() && q.unknown_birth_bytes > 0) decision.qualifiers.insert("births_unknown");
        if (q.basis == Basis::kTooFew) decision.qualifiers.insert("too_few_boundaries");
        if (q.basis == Basis::kLapped) decision.qualifiers.insert("boundaries_lapped");
    }
    Int relief = n.removable > 0 ? n.removable : n.removable_upper;
    if (external.standing == Standing::kRejected || relief <= 0) return;
    if (!q.others_bytes) external.qualifiers.insert("holder_unknown");
    if (2 * q.named_growth_bytes >= relief) external.qualifiers.insert("in_process");
    if (q.holder_shares_job) external.qualifiers.insert("same_job");
    if (q.earlier_outside_bytes && 2 * (n.outside - *q.earlier_outside_bytes) >= relief)
        external.qualifiers.insert("transient");
}

Decision decide_all(const Question& question) {
    Decision decision;
    if (question.request_bytes && *question.request_bytes >= thresholds::kCorruptRequestBytes) {
        decision.qualifiers.insert("corrupt_size");
        return decision;
    }
    bool card_known = question.total_bytes || question.device_free_bytes;
    if (!question.request_bytes || !card_known) return decision;
    bool first = true;
    std::string contradiction;
    Words answers;
    for (const auto& ends : combinations(question)) {
        auto point = decide_point(question, ends);
        if (!point.contradiction.empty()) {
            contradiction = point.contradiction;
            continue;
        }
        widen(decision.margins, margins_of(point.numbers, point.numbers.retained, point.numbers.removable));
        widen(decision.margins,
              margins_of(point.numbers, point.numbers.retained_upper, point.numbers.removable_upper));
        if (first) {
            decision.numbers = point.numbers;
            decision.opinions = point.opinions;
            decision.qualifiers = point.qualifiers;
            answers.insert(point.answer);
            first = false;
            continue;
        }
        for (std::size_t i = 0; i < kHypotheses; ++i) {
            auto& opinion = decision.opinions[i];
            if (opinion.standing != point.opinions[i].standing) opinion.standing = Standing::kUndecidable;
            opinion.qualifiers = shared(opinion.qualifiers, point.opinions[i].qualifiers);
        }
        decision.qualifiers = shared(decision.qualifiers, point.qualifiers);
        answers.insert(point.answer);
    }
    // Answered at every combination: all the answers are kept, also where they differ.
    if (!answers.contains(std::string_view())) {
        decision.answers = answers;
        decision.qualifiers.insert(answers.begin(), answers.end());
    }
    if (first) {
        decision.opinions = {};
        decision.qualifiers.insert(contradiction);
    }
    return decision;
}

}  // namespace

std::optional<Hypothesis> Decision::primary() const {
    for (std::size_t i = 0; i < kHypotheses; ++i) {
        if (opinions[i].standing == Standing::kPrimary) return static_cast<Hypothesis>(i);
    }
    return std::nullopt;
}

Decision decide(const Question& question) {
    auto decision = decide_all(question);
    qualify_missing(question, decision);
    return decision;
}

}  // namespace oracle
