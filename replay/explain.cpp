// SPDX-License-Identifier: Apache-2.0
//
// Inequalities and inputs of the four findings. The numbers are those of the verdict; the relation is
// whichever holds between them, so the line stays true whatever the status.
#include "explain.h"

#include "advice.h"
#include "policy.h"

namespace memsnap {
namespace {

using enum Hypothesis;

Wide sum(const std::vector<Term>& terms) {
    Wide total = 0;
    for (const Term& term : terms)
        total += term.subtracted ? -term.value : term.value;
    return total;
}

// `at_least` and `less`: rules of the form "reaches". `greater` and `at_most`: rules of the form "exceeds".
Clause reaches(std::vector<Term> left, std::vector<Term> right) {
    const Relation relation = sum(left) >= sum(right) ? Relation::at_least : Relation::less;
    return {std::move(left), relation, std::move(right)};
}

Clause exceeds(std::vector<Term> left, std::vector<Term> right) {
    const Relation relation = sum(left) > sum(right) ? Relation::greater : Relation::at_most;
    return {std::move(left), relation, std::move(right)};
}

class Explainer {
  public:
    Explainer(const Evidence& evidence, const Verdict& verdict)
        : evidence_(evidence), verdict_(verdict), n_(*verdict.numbers) {}

    std::vector<Clause> clauses(Hypothesis one) const {
        switch (one) {
            case live_set:
                return live_set_clauses();
            case retention:
                return relief_clauses({"retained", n_.retained}, {"retained_upper", n_.retained_high});
            case fragmentation:
                return fragmentation_clauses();
            case external:
                return relief_clauses({"removable_outside", n_.removable},
                                      {"removable_outside_upper", n_.removable_high});
        }
        return {};
    }

  private:
    bool foreign() const { return evidence_.allocator == FailedAllocator::foreign; }
    bool room() const { return n_.margin >= n_.threshold; }

    // available - need = margin, spelt with the parts that exist.
    std::vector<Term> margin_terms() const {
        std::vector<Term> terms = {{"available", n_.available}};
        if (!foreign()) terms.push_back({"active", n_.active, true});
        terms.push_back({"request", n_.request, true});
        return terms;
    }

    std::vector<Clause> live_set_clauses() const {
        if (room()) return {reaches(margin_terms(), {{"threshold", n_.threshold}})};
        std::vector<Clause> clauses = {reaches(margin_terms(), {{"threshold", n_.threshold}})};
        const bool retention_larger = n_.retained >= n_.removable;
        const Term relief =
            retention_larger ? Term{"retained", n_.retained} : Term{"removable_outside", n_.removable};
        clauses.push_back(exceeds({{"deficit", n_.deficit}}, {relief}));
        return clauses;
    }

    std::vector<Clause> fragmentation_clauses() const {
        std::vector<Clause> clauses = {reaches(margin_terms(), {{"threshold", n_.threshold}})};
        const Extents& extents = evidence_.extents;
        if (!extents.known) return clauses;
        if (!foreign()) {
            clauses.push_back(
                reaches({{"largest_free_extent", extents.largest_not_excluded}}, {{"request", n_.request}}));
        }
        if (!room()) {
            clauses.push_back(
                reaches({{"fragmented_free", extents.fragmented}}, {{"threshold", n_.threshold}}));
        }
        return clauses;
    }

    std::vector<Clause> relief_clauses(const Term& low, const Term& high) const {
        std::vector<Clause> clauses;
        if (room()) {
            clauses.push_back(reaches(margin_terms(), {{"threshold", n_.threshold}}));
        } else {
            clauses.push_back(reaches({low}, {{"deficit", n_.deficit}}));
            if (high.value != low.value) clauses.push_back(reaches({high}, {{"deficit", n_.deficit}}));
        }
        // Whether it contributes is a question of its own only where it does not suffice.
        if (room() || low.value < n_.deficit) {
            clauses.push_back(reaches({low}, {{"contribution_floor", n_.contribution_floor}}));
        }
        if (verdict_.of(retention).qualifiers.has(Qualifier::jointly)) {
            clauses.push_back(reaches({{"retained", n_.retained}, {"removable_outside", n_.removable}},
                                      {{"deficit", n_.deficit}}));
        }
        return clauses;
    }

    const Evidence& evidence_;
    const Verdict& verdict_;
    const Numbers& n_;
};

std::vector<Input> ledger_inputs(const Evidence& evidence) {
    return {{"total_bytes", evidence.total},       {"device_free_bytes", evidence.device_free},
            {"reserved_bytes", evidence.reserved}, {"allocated_bytes", evidence.allocated},
            {"deferred_bytes", evidence.deferred}, {"cap_bytes", evidence.cap},
            {"request_bytes", evidence.request},   {"segment_request_bytes", evidence.segment_request}};
}

Measure derived_if(bool known, uint64_t value) {
    return known ? Measure::derived(value) : Measure{};
}

std::vector<Input> inputs(Hypothesis one, const Evidence& evidence) {
    std::vector<Input> inputs = ledger_inputs(evidence);
    const Extents& extents = evidence.extents;
    const Growth& growth = evidence.growth;
    const Outside& outside = evidence.outside;
    switch (one) {
        case live_set:
            break;
        case retention: {
            const auto high = static_cast<uint64_t>(growth.retained_high());
            inputs.push_back({"retained_bytes", Measure::between(growth.retained_low(), high)});
            inputs.push_back({"boundary_count", Measure::derived(growth.boundary_count)});
            inputs.push_back({"growing_pairs_count", Measure::derived(growth.growing_pairs_count)});
            inputs.push_back({"kept_since_failure_bytes", Measure::derived(growth.kept_since_failure)});
            break;
        }
        case fragmentation:
            inputs.push_back(
                {"largest_compatible_extent_bytes", derived_if(extents.known, extents.largest_compatible)});
            inputs.push_back(
                {"largest_free_extent_bytes", derived_if(extents.known, extents.largest_not_excluded)});
            inputs.push_back({"reusable_free_bytes", derived_if(extents.known, extents.reusable)});
            inputs.push_back({"fragmented_free_bytes", derived_if(extents.known, extents.fragmented)});
            inputs.push_back({"incompatible_free_bytes", derived_if(extents.known, extents.incompatible)});
            inputs.push_back({"remappable_bytes", derived_if(extents.known, extents.remappable)});
            break;
        case external:
            inputs.push_back({"other_processes_bytes", outside.others});
            inputs.push_back({"named_library_bytes", Measure::observed(outside.named_bytes)});
            inputs.push_back({"named_library_growth_bytes", Measure::derived(outside.named_growth)});
            inputs.push_back({"baseline_outside_bytes", outside.baseline_outside});
            inputs.push_back({"baseline_unattributed_bytes", outside.baseline_unattributed});
            break;
    }
    return inputs;
}

std::string side(const std::vector<Term>& terms) {
    std::string text;
    for (const Term& term : terms) {
        if (!text.empty()) text += term.subtracted ? " - " : " + ";
        text += term.name;
        text += ' ';
        text += to_decimal(term.value);
    }
    if (terms.size() > 1) text += " = " + to_decimal(sum(terms));
    return text;
}

}  // namespace

std::string_view name(Relation relation) {
    switch (relation) {
        case Relation::greater:
            return ">";
        case Relation::at_least:
            return ">=";
        case Relation::less:
            return "<";
        case Relation::at_most:
            return "<=";
    }
    return "";
}

Explanations explain(const Evidence& evidence, const Verdict& verdict) {
    Explanations explanations;
    for (const Hypothesis one : kHypotheses) {
        Explanation& explanation = explanations[static_cast<unsigned>(one)];
        if (verdict.numbers) explanation.clauses = Explainer(evidence, verdict).clauses(one);
        explanation.inputs = inputs(one, evidence);
        const Advice advice = advise(one, evidence, verdict);
        explanation.fix = advice.fix;
        explanation.proof = advice.proof;
        explanation.probe = advice.probe;
    }
    return explanations;
}

std::string inequality(const Explanation& explanation) {
    if (explanation.clauses.empty()) return std::string(kUnsettled);
    std::string text;
    for (const Clause& clause : explanation.clauses) {
        if (!text.empty()) text += " and ";
        text += side(clause.left) + ' ' + std::string(name(clause.relation)) + ' ' + side(clause.right);
    }
    return text;
}

}  // namespace memsnap
