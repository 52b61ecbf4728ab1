// SPDX-License-Identifier: Apache-2.0
//
// Writes the clauses. Rule: `name number` terms, no digit grouping, the relation chosen by which of the two
// holds.
#include "inequality.h"

namespace oracle {
namespace {

struct Side {
    std::string text;
    Int value = 0;
};

Side term(std::string_view name, Int value) {
    return {std::string(name) + ' ' + digits(value), value};
}

std::string reaches(const Side& a, const Side& b) {
    return a.text + (a.value >= b.value ? " >= " : " < ") + b.text;
}
std::string exceeds(const Side& a, const Side& b) {
    return a.text + (a.value > b.value ? " > " : " <= ") + b.text;
}

std::string margin_clause(const Question& q, const Numbers& n) {
    Side side = term("available", n.available);
    if (!q.foreign()) side.text += " - " + term("active", q.active_bytes).text;
    side.text += " - " + term("request", q.foreign() ? q.segment_request_bytes : *q.request_bytes).text;
    side.text += " = " + digits(n.margin);
    side.value = n.margin;
    return reaches(side, term("threshold", n.threshold));
}

// The two reliefs that only together make up the deficit.
std::string joint_clause(const Numbers& n) {
    Side side = term("retained", n.retained);
    side.value += n.removable;
    side.text += " + " + term("removable_outside", n.removable).text + " = " + digits(side.value);
    return reaches(side, term("deficit", n.deficit));
}

std::string relief_line(const std::string& name, Int low, Int high, const std::string& margin,
                        const Numbers& n, bool jointly) {
    bool roomy = n.margin >= n.threshold;
    std::string line = margin;
    if (!roomy) {
        line = reaches(term(name, low), term("deficit", n.deficit));
        if (high != low) line += " and " + reaches(term(name + "_upper", high), term("deficit", n.deficit));
    }
    if (roomy || low < n.deficit)
        line += " and " + reaches(term(name, low), term("contribution_floor", n.floor));
    if (jointly) line += " and " + joint_clause(n);
    return line;
}

}  // namespace

std::string inequality_of(Hypothesis hypothesis, const Question& q, const Decision& decision) {
    if (!decision.numbers) return "unknown: the numbers settle nothing";
    const auto& n = *decision.numbers;
    bool jointly = decision.opinions[hypothesis].qualifiers.contains("jointly");
    auto margin = margin_clause(q, n);
    bool roomy = n.margin >= n.threshold;
    switch (hypothesis) {
        case kLiveSet: {
            if (roomy) return margin;
            auto relief = n.retained >= n.removable ? term("retained", n.retained)
                                                    : term("removable_outside", n.removable);
            return margin + " and " + exceeds(term("deficit", n.deficit), relief);
        }
        case kRetention:
            return relief_line("retained", n.retained, n.retained_upper, margin, n, jointly);
        case kExternal:
            return relief_line("removable_outside", n.removable, n.removable_upper, margin, n, jointly);
        case kFragmentation: {
            auto line = margin;
            if (!q.foreign())
                line += " and " + reaches(term("largest_free_extent", q.largest_bytes),
                                          term("request", *q.request_bytes));
            if (!roomy)
                line += " and " +
                        reaches(term("fragmented_free", q.fragmented_bytes), term("threshold", n.threshold));
            return line;
        }
        case kHypotheses:
            break;
    }
    return {};
}

}  // namespace oracle
