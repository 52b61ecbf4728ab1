// SPDX-License-Identifier: Apache-2.0
//
// The decision table for one exact set of numbers, in the order of the rules: settled at all, answered by a
// qualifier, fragmentation, but-for reliefs, the others. Every path gives all four hypotheses a status.
#include "decide_point.h"

#include <algorithm>

#include "policy.h"

namespace memsnap {
namespace {

using enum Hypothesis;

// Whether a relief alone would have made room, only helped, or neither.
enum class Standing {
    none,
    contributes,
    suffices
};

class Decision {
  public:
    Decision(const Point& point, const Evidence& evidence) : point_(point), evidence_(evidence) {}

    Verdict run() {
        if (!settled()) return verdict_;
        compute_numbers();
        state_margins();
        if (answered_by_qualifier()) return verdict_;
        if (larger_than_card()) verdict_.qualifiers.add(Qualifier::larger_than_card);
        weigh();
        return verdict_;
    }

  private:
    bool foreign() const { return evidence_.allocator == FailedAllocator::foreign; }
    Wide asked() const { return foreign() ? point_.segment_request : point_.request; }
    Wide active() const { return point_.allocated + point_.deferred; }
    Wide slack() const { return point_.reserved - active(); }
    bool larger_than_card() const { return asked() > point_.total; }

    bool settled() {
        const Wide slop = evidence_.uncertainty;
        if (asked() >= Wide{policy::kCorruptRequest_bytes}) {
            verdict_.qualifiers.add(Qualifier::corrupt_size);
            return false;
        }
        const bool impossible = active() > point_.reserved + slop || point_.reserved > point_.total + slop ||
                                point_.device_free > point_.total ||
                                point_.reserved + point_.device_free > point_.total + slop;
        verdict_.qualifiers.add_if(impossible, Qualifier::inconsistent_numbers);
        return !impossible;
    }

    void compute_numbers() {
        Numbers n;
        n.threshold = point_.total * Wide{policy::kThreshold_permille} / 1000;
        n.request = asked();
        n.active = active();
        n.slack = slack();
        n.outside = std::max(Wide{0}, point_.total - point_.device_free - point_.reserved);
        // A foreign victim cannot use the cache's slack, only what emptying the cache would have given back.
        n.available = point_.device_free + (foreign() ? point_.releasable : point_.reserved);
        cap_binds_ = !foreign() && point_.cap && *point_.cap < n.available;
        if (cap_binds_) n.available = *point_.cap;
        n.need = n.request + (foreign() ? Wide{0} : n.active);
        n.margin = n.available - n.need;
        n.deficit = std::max(Wide{0}, n.threshold - n.margin);
        const Wide quarter = n.threshold / Wide{policy::kContributionDivisor};
        // At least one byte: on a card so small that tau is 0, nothing would contribute by weighing nothing.
        n.contribution_floor =
            std::max(Wide{1}, std::min(n.threshold, std::max({Wide{1}, -n.margin, quarter})));

        n.retained = point_.retained;
        n.retained_high = evidence_.growth.retained_high();
        const Removable removable = removable_outside(evidence_.outside, n.outside, cap_binds_);
        n.removable = removable.low;
        n.removable_high = removable.high;
        verdict_.numbers = n;
    }

    // Where there is room (M >= tau) nothing was lacking: no relief is called for, and what separates the
    // three others from holding is the room itself.
    void state_margins() {
        const Numbers& n = numbers();
        set_margin(fragmentation, n.margin - n.threshold, n.margin - n.threshold);
        if (n.margin >= n.threshold) {
            const Wide lacking = n.threshold - n.margin;
            for (const Hypothesis one : {live_set, retention, external})
                set_margin(one, lacking, lacking);
            return;
        }
        set_margin(retention, n.retained - n.deficit, n.retained_high - n.deficit);
        set_margin(external, n.removable - n.deficit, n.removable_high - n.deficit);
        const Wide live = n.deficit - std::max(n.retained, n.removable);
        set_margin(live_set, live, live);
    }

    void set_margin(Hypothesis one, Wide low, Wide high) {
        verdict_.of(one).margin = low;
        verdict_.of(one).margin_high = high;
    }

    const Numbers& numbers() const { return *verdict_.numbers; }
    void set(Hypothesis one, Status status) { verdict_.of(one).status = status; }

    bool answer(Qualifier qualifier) {
        verdict_.qualifiers.add(qualifier);
        verdict_.answered = true;
        for (const Hypothesis one : kHypotheses)
            set(one, Status::rejected);
        return true;
    }

    bool answered_by_qualifier() {
        if (larger_than_card()) return false;
        return foreign() ? foreign_answer() : caching_answer();
    }

    bool caching_answer() {
        const Extents& extents = evidence_.extents;
        if (extents.known && Wide{extents.largest_compatible} >= point_.request) {
            if (extents.release == HoleRelease::overlaps) return answer(Qualifier::deferred_free);
            if (extents.release == HoleRelease::unknown) {
                verdict_.qualifiers.add(Qualifier::deferred_free_possible);
            }
            return answer(Qualifier::fit_ignored);
        }
        if (evidence_.device_call != DeviceCall::failed || !evidence_.free_observed_at_failure) return false;
        const Wide spare = point_.device_free - point_.segment_request;
        if (spare >= numbers().threshold) return answer(Qualifier::driver_refused);
        verdict_.qualifiers.add_if(spare >= 0, Qualifier::driver_refused);
        return false;
    }

    // Free bytes of the device alone sufficing (F >= N, possible only when F was observed at the failure) is
    // the driver's refusal, whatever the cache held.
    bool foreign_answer() {
        const Wide wanted = point_.segment_request;
        if (point_.device_free >= wanted) return answer(Qualifier::driver_refused);
        if (point_.device_free + point_.releasable >= wanted) return answer(Qualifier::cache_hoarding);
        if (point_.device_free + slack() >= wanted) return answer(Qualifier::cache_pinned);
        return false;
    }

    bool fits_unexplained() const {
        const Extents& extents = evidence_.extents;
        return !foreign() && !larger_than_card() && extents.known &&
               Wide{extents.largest_not_excluded} >= point_.request;
    }

    // Steps 3 to 5. A hole that may have fitted (its stream or pool is unknown) leaves open whether memory
    // was short at all: then nothing is primary, and what would be is undecidable.
    void weigh() {
        const Numbers& n = numbers();
        verdict_.qualifiers.add_if(cap_binds_, Qualifier::cap);
        if (n.margin >= n.threshold) {
            weigh_with_room();
        } else {
            weigh_without_room();
        }
        if (!fits_unexplained()) return;
        verdict_.qualifiers.add(Qualifier::fit_unexplained);
        set(fragmentation, Status::undecidable);
        for (const Hypothesis one : kHypotheses) {
            if (verdict_.of(one).status == Status::primary) set(one, Status::undecidable);
        }
    }

    void weigh_with_room() {
        set(fragmentation, Status::primary);
        verdict_.of(fragmentation).qualifiers.add(fragmentation_kind());
        set(live_set, Status::rejected);
        set(retention, retention_alone());
        set(external, external_alone());
    }

    Qualifier fragmentation_kind() const {
        const Wide compatible = compatible_free();
        if (compatible >= point_.request) return Qualifier::strict;
        const Wide device_room = numbers().available - point_.reserved;
        if (compatible + device_room >= point_.request) return Qualifier::combined;
        return Qualifier::incompatible;
    }

    // Slack is compatible unless it is known not to be.
    Wide compatible_free() const {
        if (!evidence_.extents.known) return slack();
        return std::max(Wide{0}, slack() - Wide{evidence_.extents.incompatible});
    }

    void weigh_without_room() {
        const Numbers& n = numbers();
        verdict_.qualifiers.add_if(n.margin >= 0, Qualifier::near_capacity);
        // No relief makes a request fit that is larger than the card.
        const bool possible = !larger_than_card();
        const bool by_retention = possible && retention_standing(n.retained) == Standing::suffices;
        const bool by_external = possible && external_standing(n.removable) == Standing::suffices;
        const bool jointly =
            possible && !by_retention && !by_external && n.retained + n.removable >= n.deficit;
        Wide relief = 0;
        set(retention, retention_alone());
        set(external, external_alone());
        if (by_retention || by_external || jointly) {
            const bool both = jointly || (by_retention && by_external);
            const bool retention_leads = both ? n.retained >= n.removable : by_retention;
            relief = retention_leads ? n.retained : n.removable;
            set(retention_leads ? retention : external, Status::primary);
            if (both) set(retention_leads ? external : retention, Status::contributing);
            if (jointly) {
                verdict_.of(retention).qualifiers.add(Qualifier::jointly);
                verdict_.of(external).qualifiers.add(Qualifier::jointly);
            }
            set(live_set, n.deficit > relief ? Status::contributing : Status::rejected);
        } else {
            set(live_set, Status::primary);
        }
        weigh_fragmentation_without_room();
    }

    void weigh_fragmentation_without_room() {
        const Numbers& n = numbers();
        const Extents& extents = evidence_.extents;
        const bool packed = !foreign() && n.margin >= 0 && extents.known &&
                            compatible_free() >= point_.request &&
                            Wide{extents.largest_not_excluded} < point_.request;
        if (packed) verdict_.of(fragmentation).qualifiers.add(Qualifier::would_fit_packed);
        // Without a segment map all slack may be fragmented.
        const Wide fragmented = extents.known ? Wide{extents.fragmented} : slack();
        const bool contributes = packed || (fragmented >= n.threshold && fragmented > 0);
        set(fragmentation, contributes ? Status::contributing : Status::rejected);
    }

    // A slow leak on a big card never reaches the deficit: the steps in which the very same request was
    // served are the counterfactual.
    Standing retention_standing(Wide retained) const {
        const Numbers& n = numbers();
        if (retained > 0 && n.margin < n.threshold) {
            if (retained >= n.deficit) return Standing::suffices;
            const Wide quarter = n.threshold / Wide{policy::kContributionDivisor};
            const bool slow = evidence_.growth.request_repeated && retained >= std::max(-n.margin, quarter);
            if (slow) return Standing::suffices;
        }
        return retained >= n.contribution_floor ? Standing::contributes : Standing::none;
    }

    Standing external_standing(Wide removable) const {
        const Numbers& n = numbers();
        if (n.margin < n.threshold && removable >= n.deficit) return Standing::suffices;
        return removable >= n.contribution_floor ? Standing::contributes : Standing::none;
    }

    static Status status_of(Standing standing) {
        return standing == Standing::none ? Status::rejected : Status::contributing;
    }

    // Retention where it is not primary.
    Status retention_alone() const {
        const Numbers& n = numbers();
        switch (evidence_.growth.basis) {
            case GrowthBasis::marked:
            case GrowthBasis::certified:
                return status_of(retention_standing(n.retained));
            case GrowthBasis::too_few: {
                const bool small =
                    n.retained_high < n.threshold && (n.margin >= n.threshold || n.retained_high < n.deficit);
                return small ? Status::rejected : Status::undecidable;
            }
            case GrowthBasis::uncertified:
            case GrowthBasis::lapped:
                return Status::undecidable;
        }
        return Status::undecidable;
    }

    // External where it is not primary: what the bound that decided and the other bound agree on.
    Status external_alone() const {
        const Standing low = external_standing(numbers().removable);
        const Standing high = external_standing(numbers().removable_high);
        return low == high ? status_of(low) : Status::undecidable;
    }

    Point point_;
    const Evidence& evidence_;
    Verdict verdict_;
    bool cap_binds_ = false;
};

}  // namespace

Removable removable_outside(const Outside& outside, Wide outside_bytes, bool cap_binds) {
    if (cap_binds) return {};  // the process was not allowed what others hold
    const Wide allowance = policy::kUnnamedOutsideAllowance_bytes;
    if (!outside.others.known()) {
        const Wide before = outside.baseline_outside.known() ? Wide{outside.baseline_outside.low} : Wide{0};
        const Wide grown = std::max(Wide{0}, outside_bytes - std::max(before, allowance));
        return {grown, outside_bytes};
    }
    const Wide before =
        outside.baseline_unattributed.known() ? Wide{outside.baseline_unattributed.low} : Wide{0};
    const auto removable = [&](Wide others) {
        const Wide unattributed = std::max(Wide{0}, outside_bytes - others - Wide{outside.named_bytes});
        const Wide grown = std::max(Wide{0}, unattributed - std::max(before, allowance));
        // A sample may be older than the failure: what is not outside cannot be removed from it.
        return std::min(outside_bytes, others + Wide{outside.named_growth} + grown);
    };
    return {removable(Wide{outside.others.low}), removable(Wide{outside.others.high})};
}

Verdict decide_point(const Point& point, const Evidence& evidence) {
    return Decision(point, evidence).run();
}

}  // namespace memsnap
