// SPDX-License-Identifier: Apache-2.0
//
// One condition a function, then one contract a cause.
#include "diff_contract.h"

#include <algorithm>

#include "policy.h"

namespace memsnap {
namespace {

using Alternative = std::vector<Condition>;

constexpr std::string_view kNeedsRing = "AFTER is a receipt: give its ring";
constexpr std::string_view kNotAsked = "AFTER was not granted it and did not fail on it";
constexpr std::string_view kNeedsHistory =
    "how often BEFORE was granted it is unknown, and AFTER did not end with status 0";
constexpr std::string_view kNeedsFailure = "AFTER has no failure to look at";
constexpr std::string_view kNeedsPeak = "the peak of a whole run is unknown";
constexpr std::string_view kNeedsAllNeeds = "what AFTER needed at its other failures is unknown";
constexpr std::string_view kNeedsOutside = "AFTER did not observe the device";
constexpr std::string_view kNeedsSteps = "AFTER has fewer than six marked steps";
constexpr std::string_view kStillRises = "a rise over five steps may be noise: more steps would tell";
constexpr std::string_view kNeedsRise = "how fast BEFORE rose is unknown";
constexpr std::string_view kNeedsEnd = "AFTER neither ended with status 0 nor got further than BEFORE";
constexpr std::string_view kNeedsNumbers = "BEFORE has no exact numbers";
constexpr std::string_view kNeedsSlack = "free bytes of other pools are not known to have fallen";
constexpr std::string_view kNeedsCard = "the size of the card of AFTER is unknown";
constexpr std::string_view kNeedsSameFree = "free bytes before the granted call are unknown or were more";

Wide sum(const std::vector<Term>& terms) {
    Wide total = 0;
    for (const Term& term : terms)
        total += term.subtracted ? -term.value : term.value;
    return total;
}

Condition unknown(std::string_view name, std::string_view missing, std::optional<Clause> clause = {}) {
    return {name, Truth::unknown, std::move(clause), missing};
}

// left >= right, or what holds instead.
Condition reaches(std::string_view name, std::vector<Term> left, Term right) {
    const bool holds = sum(left) >= right.value;
    return {name,
            holds ? Truth::holds : Truth::fails,
            Clause{std::move(left), holds ? Relation::at_least : Relation::less, {right}},
            {}};
}

// left < right, or what holds instead.
Condition below(std::string_view name, Term left, Term right) {
    const bool holds = left.value < right.value;
    return {name,
            holds ? Truth::holds : Truth::fails,
            Clause{{left}, holds ? Relation::less : Relation::at_least, {right}},
            {}};
}

// left <= right, or what holds instead.
Condition at_most(std::string_view name, Term left, Term right) {
    const bool holds = left.value <= right.value;
    return {name,
            holds ? Truth::holds : Truth::fails,
            Clause{{left}, holds ? Relation::at_most : Relation::greater, {right}},
            {}};
}

class Judge {
  public:
    Judge(const DiffSide& before, const DiffSide& after, std::optional<Wide> target)
        : before_(before), failed_(*before.incident), after_(after), target_(target) {}

    std::vector<Alternative> alternatives() const {
        std::vector<Alternative> any = of_cause();
        if (after_.total.known()) return any;
        for (Alternative& all : any)
            all.push_back(fits_the_card());
        return any;
    }

  private:
    std::vector<Alternative> of_cause() const {
        if (failed_.primary == "live_set") return live_set();
        if (failed_.primary == "retention") {
            return {{pairs_stopped_rising(), no_net_rise()}, {hundredth_is_left()}};
        }
        if (failed_.primary == "fragmentation") {
            if (qualified("incompatible")) return {{request_granted(), incompatible_fell()}};
            return {{request_granted()}, {extent_reaches()}};
        }
        if (failed_.primary == "external") return {{outside_fell(), got_as_far()}};
        if (failed_.answer == "driver_refused") return {{request_granted(), same_free()}};
        return {{request_granted()}};
    }

    bool qualified(std::string_view qualifier) const {
        return std::ranges::find(failed_.qualifiers, qualifier) != failed_.qualifiers.end();
    }

    // A smaller step may never ask for the same block again: then only headroom can show that it fits.
    std::vector<Alternative> live_set() const {
        if (qualified("larger_than_card")) return {{smaller_than_card(), got_as_far()}};
        if (qualified("cap")) {
            std::vector<Alternative> any = {{request_granted()}, {peak_fell(), got_as_far()}};
            if (target_) any.push_back({headroom_returned(), got_as_far()});
            return any;
        }
        std::vector<Alternative> any = {{peak_fell(), request_granted()}};
        if (target_) any.push_back({peak_fell(), headroom_returned(), got_as_far()});
        return any;
    }

    // What a failure was refused; another library asks for a segment.
    static const Amount& refused(const SideIncident& incident) {
        return incident.request.known() ? incident.request : incident.segment_request;
    }

    bool same_allocator(const SideFailure& failure) const {
        return failure.device == failed_.device && failure.allocator == failed_.allocator &&
               refused(failed_).known();
    }

    // Whether AFTER was refused the very request of BEFORE, even if it went on.
    bool same_refusal() const {
        return std::ranges::any_of(after_.failures, [&](const SideFailure& failure) {
            return same_allocator(failure) && failure.request_bytes == *refused(failed_).value;
        });
    }

    // The same, or an end in a failure of more.
    bool failed_again() const {
        return same_refusal() || std::ranges::any_of(after_.failures, [&](const SideFailure& failure) {
                   return same_allocator(failure) && !failure.followed &&
                          failure.request_bytes > *refused(failed_).value;
               });
    }

    // The least and the most that AFTER needed at once: what it was refused was never part of its peak.
    struct Need {
        Wide least, most;
        std::string_view name;
    };

    Need need_after() const {
        const Wide peak = *after_.peak_active.value;
        Need need = {peak, peak, "peak_active_after"};
        const SideIncident* explained = after_.incident ? &*after_.incident : nullptr;
        for (const SideFailure& failure : after_.failures) {
            if (failure.device != failed_.device) continue;
            need.name = "peak_needed_after";
            const bool known = explained != nullptr && explained->need.known() &&
                               explained->allocator == failure.allocator &&
                               refused(*explained).value == failure.request_bytes;
            if (known) {
                need.least = std::max(need.least, *explained->need.value);
                need.most = std::max(need.most, *explained->need.value);
                explained = nullptr;
            } else {
                need.most = std::max(need.most, peak + failure.request_bytes);
            }
        }
        return need;
    }

    // left - need of AFTER >= right. Between the bounds of the need it is open.
    static Condition reaches_with(std::string_view name, std::vector<Term> left, const Need& need,
                                  Term right) {
        std::vector<Term> least = left;
        least.push_back({need.name, need.least, true});
        left.push_back({need.name, need.most, true});
        Condition best = reaches(name, std::move(least), right);
        if (best.truth == Truth::fails) return best;
        Condition worst = reaches(name, std::move(left), right);
        return worst.truth == Truth::holds ? worst : unknown(name, kNeedsAllNeeds, best.clause);
    }

    // One grant more than BEFORE had before it failed. Where that number is unknown, any grant of a job that
    // ended well.
    Condition request_granted() const {
        constexpr std::string_view kName = "request_granted";
        if (!after_.grants) {
            return failed_again() ? Condition{kName, Truth::fails, {}, {}} : unknown(kName, kNeedsRing);
        }
        const bool counted = before_.grants && before_.grants->exact;
        const Term needed = {"granted_needed", counted ? Wide{before_.grants->count} + 1 : Wide{1}};
        Condition condition = reaches(kName, {{"granted_after", Wide{after_.grants->count}}}, needed);
        if (condition.truth == Truth::holds && same_refusal()) return {kName, Truth::fails, {}, {}};
        if (condition.truth == Truth::holds) {
            return counted || after_.ended_well ? condition : unknown(kName, kNeedsHistory, condition.clause);
        }
        return failed_again() ? condition : unknown(kName, kNotAsked, condition.clause);
    }

    // What BEFORE had to hold at once stood above its peak: the request was not granted.
    Condition peak_fell() const {
        constexpr std::string_view kName = "peak_fell";
        if (!failed_.need.known() || !failed_.deficit.known()) return unknown(kName, kNeedsNumbers);
        if (!after_.peak_active.known() || !after_.peak_is_whole) return unknown(kName, kNeedsPeak);
        const Wide needed = std::max(*failed_.need.value, before_.peak_active.value.value_or(0));
        return reaches_with(kName, {{"peak_needed_before", needed}}, need_after(),
                            {"deficit", *failed_.deficit.value});
    }

    Condition headroom_returned() const {
        constexpr std::string_view kName = "headroom_returned";
        if (!after_.peak_active.known() || !after_.peak_is_whole) return unknown(kName, kNeedsPeak);
        if (!after_.outside.known() || !after_.total.known()) return unknown(kName, kNeedsOutside);
        return reaches_with(kName,
                            {{"total", *after_.total.value}, {"outside_after", *after_.outside.value, true}},
                            need_after(), {"target_headroom", *target_});
    }

    Condition smaller_than_card() const {
        constexpr std::string_view kName = "smaller_than_card";
        if (!after_.grants)
            return failed_again() ? Condition{kName, Truth::fails, {}, {}} : unknown(kName, kNeedsRing);
        if (!after_.total.known()) return unknown(kName, kNeedsOutside);
        Condition condition = below(kName, {"largest_request_after", Wide{after_.grants->largest_bytes}},
                                    {"total", *after_.total.value});
        if (condition.truth == Truth::holds && !after_.grants->exact) {
            return unknown(kName, kNeedsPeak, condition.clause);
        }
        return condition;
    }

    Condition extent_reaches() const {
        constexpr std::string_view kName = "extent_reaches";
        if (!after_.incident) return unknown(kName, kNeedsFailure);
        if (!after_.incident->largest_free_extent.known() || !failed_.request.known())
            return unknown(kName, kNeedsNumbers);
        return reaches(kName, {{"largest_free_extent_after", *after_.incident->largest_free_extent.value}},
                       {"request", *failed_.request.value});
    }

    // At the grant that BEFORE was refused, all that was reserved and not allocated bounds it from above.
    Condition incompatible_fell() const {
        constexpr std::string_view kName = "incompatible_fell";
        if (!failed_.incompatible_free.known()) return unknown(kName, kNeedsNumbers);
        const Term was = {"incompatible_free_before", *failed_.incompatible_free.value};
        if (after_.incident && after_.incident->incompatible_free.known()) {
            return below(kName, {"incompatible_free_after", *after_.incident->incompatible_free.value}, was);
        }
        if (!after_.grants || !after_.grants->slack_bytes.known()) return unknown(kName, kNeedsFailure);
        Condition condition = below(kName, {"slack_after", *after_.grants->slack_bytes.value}, was);
        return condition.truth == Truth::holds ? condition : unknown(kName, kNeedsSlack, condition.clause);
    }

    Condition outside_fell() const {
        constexpr std::string_view kName = "outside_fell";
        if (!before_.outside.known() || !failed_.deficit.known()) return unknown(kName, kNeedsNumbers);
        if (!after_.outside.known()) return unknown(kName, kNeedsOutside);
        return reaches(
            kName,
            {{"outside_before", *before_.outside.value}, {"outside_after", *after_.outside.value, true}},
            {"deficit", *failed_.deficit.value});
    }

    bool enough_steps() const {
        return after_.growth && after_.growth->boundary_count >= policy::kBoundariesNeeded_count;
    }

    Condition pairs_stopped_rising() const {
        constexpr std::string_view kName = "pairs_stopped_rising";
        if (!enough_steps()) return unknown(kName, kNeedsSteps);
        return below(kName, {"growing_pairs_after", Wide{after_.growth->growing_pairs_count}},
                     {"growing_pairs_needed", Wide{policy::kGrowingPairsNeeded_count}});
    }

    // A rise that the pairs do not bear out may be noise: it refutes nothing.
    Condition no_net_rise() const {
        constexpr std::string_view kName = "no_net_rise";
        if (!enough_steps()) return unknown(kName, kNeedsSteps);
        const Wide rise = after_.growth->rise_bytes;
        const Clause clause{
            {{"active_rise_after", rise}}, rise <= 0 ? Relation::at_most : Relation::greater, {{"zero", 0}}};
        if (rise <= 0) return {kName, Truth::holds, clause, {}};
        return unknown(kName, kStillRises, clause);
    }

    // Pairs may go on rising by what is still wanted. Both rises are compared over as many steps.
    Condition hundredth_is_left() const {
        constexpr std::string_view kName = "hundredth_is_left";
        if (!enough_steps()) return unknown(kName, kNeedsSteps);
        if (!before_.growth || before_.growth->spaced_steps_count == 0) return unknown(kName, kNeedsRise);
        const StepGrowth& was = *before_.growth;
        const StepGrowth& left = *after_.growth;
        const Wide allowed = std::max(Wide{0}, was.spaced_rise_bytes) * Wide{left.spaced_steps_count} /
                             (Wide{policy::kRiseLeftDivisor} * Wide{was.spaced_steps_count});
        return at_most(kName, {"rise_left", left.spaced_rise_bytes}, {"rise_allowed", allowed});
    }

    // A run that was cut short has small peaks and proves nothing.
    Condition got_as_far() const {
        constexpr std::string_view kName = "got_as_far";
        if (const Condition granted = request_granted(); granted.truth == Truth::holds) {
            return {kName, Truth::holds, after_.ended_well ? std::nullopt : granted.clause, {}};
        }
        if (failed_again()) return {kName, Truth::fails, {}, {}};
        if (after_.ended_well) return {kName, Truth::holds, {}, {}};
        if (failed_.steps_ended_count == 0 || after_.steps_ended_count <= failed_.steps_ended_count)
            return unknown(kName, kNeedsEnd);
        return {kName,
                Truth::holds,
                Clause{{{"steps_after", Wide{after_.steps_ended_count}}},
                       Relation::greater,
                       {{"steps_before", Wide{failed_.steps_ended_count}}}},
                {}};
    }

    // A job that is never refused need not ask for the size of its card. What never reserved more than the
    // card of BEFORE had to give did not succeed by having a larger one.
    Condition fits_the_card() const {
        constexpr std::string_view kName = "fits_the_card";
        const bool known = before_.total.known() && before_.outside.known() && after_.peak_reserved.known() &&
                           after_.peak_is_whole;
        if (!known) return unknown(kName, kNeedsCard);
        Condition condition = reaches(
            kName, {{"total_before", *before_.total.value}, {"outside_before", *before_.outside.value, true}},
            {"peak_reserved_after", *after_.peak_reserved.value});
        return condition.truth == Truth::holds ? condition : unknown(kName, kNeedsCard, condition.clause);
    }

    // More free bytes than at the refusal would explain a success by themselves.
    Condition same_free() const {
        constexpr std::string_view kName = "same_free";
        if (!failed_.device_free.known()) return unknown(kName, kNeedsNumbers);
        if (!after_.grants) return unknown(kName, kNeedsRing);
        if (!after_.grants->device_free_bytes.known()) return unknown(kName, kNeedsSameFree);
        Condition condition = reaches(kName, {{"device_free_before", *failed_.device_free.value}},
                                      {"device_free_after", *after_.grants->device_free_bytes.value});
        return condition.truth == Truth::holds ? condition : unknown(kName, kNeedsSameFree, condition.clause);
    }

    const DiffSide& before_;
    const SideIncident& failed_;
    const DiffSide& after_;
    const std::optional<Wide> target_;
};

Truth truth_of(const Alternative& all) {
    Truth least = Truth::holds;
    for (const Condition& condition : all)
        least = std::min(least, condition.truth);
    return least;
}

}  // namespace

std::string_view name(Truth truth) {
    constexpr std::string_view kNames[] = {"fails", "unknown", "holds"};
    return kNames[static_cast<size_t>(truth)];
}

std::string_view name(Proof proof) {
    constexpr std::string_view kNames[] = {"refuted", "not_proven", "proven"};
    return kNames[static_cast<size_t>(proof)];
}

std::optional<Contract> judge_contract(const DiffSide& before, const DiffSide& after,
                                       std::optional<Wide> target_headroom_bytes) {
    if (!before.incident) return std::nullopt;
    const SideIncident& failed = *before.incident;
    if (failed.primary.empty() && failed.answer.empty()) return std::nullopt;
    Contract contract;
    contract.cause = failed.primary.empty() ? failed.answer : failed.primary;
    contract.proof = failed.proof;
    contract.alternatives = Judge(before, after, target_headroom_bytes).alternatives();
    Truth best = Truth::fails;
    for (const Alternative& alternative : contract.alternatives)
        best = std::max(best, truth_of(alternative));
    contract.result = static_cast<Proof>(best);
    return contract;
}

Amount headroom(const DiffSide& side) {
    if (!side.total.known() || !side.outside.known() || !side.peak_active.known()) return {};
    return Amount::derived(*side.total.value - *side.outside.value - *side.peak_active.value);
}

std::string inequality(const Clause& clause) {
    Explanation explanation;
    explanation.clauses = {clause};
    return inequality(explanation);
}

}  // namespace memsnap
