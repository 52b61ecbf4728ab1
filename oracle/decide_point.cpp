// SPDX-License-Identifier: Apache-2.0
//
// One combination of interval ends, step by step as VERDICT.md §9 numbers them. Rule: comparisons of integers
// only.
#include "decide.h"
#include "thresholds.h"

namespace oracle {
namespace {

using namespace thresholds;

// The cap is PyTorch's own: it refuses nothing to another library.
bool cap_binds(const Question& question, const Ends& ends) {
    return !question.foreign() && ends.cap_bytes &&
           *ends.cap_bytes < ends.device_free_bytes + question.reserved_bytes;
}

class Combination {
  public:
    Combination(const Question& question, const Ends& ends)
        : q_(question), ends_(ends), n_(numbers_of(question, ends)) {}

    PointDecision decide() {
        out_.numbers = n_;
        if (contradicts()) return out_;
        if (ends_.cap_implied && q_.device_call == DeviceCall::kUnknown)
            out_.qualifiers.insert("cap_or_driver_refused");
        bool too_large = request() > ends_.total_bytes;
        if (!too_large && answered()) {
            for (auto& opinion : out_.opinions)
                opinion.standing = Standing::kRejected;
            return out_;
        }
        if (too_large) out_.qualifiers.insert("larger_than_card");
        if (cap_binds(q_, ends_)) out_.qualifiers.insert("cap");
        if (n_.margin >= n_.threshold) {
            fragmentation_is_primary();
        } else {
            reliefs_or_live_set();
        }
        judge_retention();
        judge_external();
        bool may_have_fitted = !q_.foreign() && !too_large && q_.largest_bytes >= request();
        if (may_have_fitted) {
            out_.qualifiers.insert("fit_unexplained");
            for (auto& opinion : out_.opinions) {
                if (opinion.standing == Standing::kPrimary) opinion.standing = Standing::kUndecidable;
            }
            at(kFragmentation).standing = Standing::kUndecidable;
        }
        return out_;
    }

  private:
    Int request() const { return q_.foreign() ? q_.segment_request_bytes : *q_.request_bytes; }
    Opinion& at(Hypothesis hypothesis) { return out_.opinions[hypothesis]; }

    bool contradicts() {
        Int free = ends_.device_free_bytes, total = ends_.total_bytes, slop = q_.uncertainty_bytes;
        if (request() >= kCorruptRequestBytes) {
            out_.contradiction = "corrupt_size";
        } else if (q_.active_bytes > q_.reserved_bytes + slop || q_.reserved_bytes > total + slop ||
                   free > total + slop || q_.reserved_bytes + free > total + slop) {
            out_.contradiction = "inconsistent_numbers";
        }
        return !out_.contradiction.empty();
    }

    bool answered() {
        Int free = ends_.device_free_bytes, wanted = q_.segment_request_bytes;
        if (q_.foreign()) {
            if (free >= wanted) {
                out_.answer = "driver_refused";
            } else if (free + q_.releasable_bytes >= wanted) {
                out_.answer = "cache_hoarding";
            } else if (free + q_.slack_bytes() >= wanted) {
                out_.answer = "cache_pinned";
            }
        } else if (q_.largest_compatible_bytes >= request()) {
            out_.answer = q_.hole_release == HoleRelease::kOverlaps ? "deferred_free" : "fit_ignored";
            if (q_.hole_release == HoleRelease::kUnknown) out_.qualifiers.insert("deferred_free_possible");
        } else if (q_.device_call == DeviceCall::kFailed && q_.free_observed_at_failure && free >= wanted) {
            if (free - wanted >= n_.threshold) {
                out_.answer = "driver_refused";
            } else {
                out_.qualifiers.insert("driver_refused");
            }
        }
        if (!out_.answer.empty()) out_.qualifiers.insert(out_.answer);
        return !out_.answer.empty();
    }

    Int compatible_free() const { return q_.slack_bytes() - q_.incompatible_bytes; }

    void fragmentation_is_primary() {
        at(kLiveSet).standing = Standing::kRejected;
        at(kFragmentation).standing = Standing::kPrimary;
        Int compatible = compatible_free();
        const char* kind = "incompatible";
        if (compatible >= request()) {
            kind = "strict";
        } else if (compatible + (n_.available - q_.reserved_bytes) >= request()) {
            kind = "combined";
        }
        at(kFragmentation).qualifiers.insert(kind);
    }

    bool retention_suffices() const {
        if (n_.retained <= 0) return false;
        return n_.retained >= n_.deficit ||
               (q_.request_repeated &&
                n_.retained >= std::max(-n_.margin, n_.threshold / kContributionDivisor));
    }

    void reliefs_or_live_set() {
        if (n_.margin >= 0) out_.qualifiers.insert("near_capacity");
        bool retention = retention_suffices(), external = n_.removable >= n_.deficit;
        bool jointly = !retention && !external && n_.retained + n_.removable >= n_.deficit;
        if (retention || external || jointly) {
            bool retention_first = external == retention ? n_.retained >= n_.removable : retention;
            auto first = retention_first ? kRetention : kExternal,
                 second = retention_first ? kExternal : kRetention;
            at(first).standing = Standing::kPrimary;
            if (jointly || (retention && external)) at(second).standing = Standing::kContributing;
            if (jointly) {
                at(first).qualifiers.insert("jointly");
                at(second).qualifiers.insert("jointly");
            }
            Int relief = retention_first ? n_.retained : n_.removable;
            at(kLiveSet).standing = n_.deficit > relief ? Standing::kContributing : Standing::kRejected;
        } else {
            at(kLiveSet).standing = Standing::kPrimary;
        }
        bool packed =
            !q_.foreign() && n_.margin >= 0 && compatible_free() >= request() && request() > q_.largest_bytes;
        bool enough = q_.fragmented_bytes > 0 && q_.fragmented_bytes >= n_.threshold;
        at(kFragmentation).standing = packed || enough ? Standing::kContributing : Standing::kRejected;
        if (packed) at(kFragmentation).qualifiers.insert("would_fit_packed");
    }

    // Primary and contributing are the work of the steps before; everything else still stands at undecidable.
    bool is_settled(Hypothesis hypothesis) { return at(hypothesis).standing != Standing::kUndecidable; }

    void judge_retention() {
        bool short_of_room = n_.margin < n_.threshold;
        switch (q_.basis) {
            case Basis::kMarked:
            case Basis::kCertified: {
                if (is_settled(kRetention)) return;
                bool contributes = (short_of_room && retention_suffices()) || n_.retained >= n_.floor;
                at(kRetention).standing = contributes ? Standing::kContributing : Standing::kRejected;
                return;
            }
            case Basis::kTooFew:
                if (q_.retained_bytes < n_.threshold && (!short_of_room || q_.retained_bytes < n_.deficit))
                    at(kRetention).standing = Standing::kRejected;
                return;
            case Basis::kUncertified:
            case Basis::kLapped:
                return;
        }
    }

    // What the external bytes can do at one end of their interval.
    enum class Reach : u8 {
        kNothing,
        kContributes,
        kSuffices
    };
    Reach external_reach(Int removable) const {
        if (n_.margin < n_.threshold && removable >= n_.deficit) return Reach::kSuffices;
        return removable >= n_.floor ? Reach::kContributes : Reach::kNothing;
    }

    void judge_external() {
        if (is_settled(kExternal)) return;
        auto low = external_reach(n_.removable), high = external_reach(n_.removable_upper);
        if (low == high)
            at(kExternal).standing = low != Reach::kNothing ? Standing::kContributing : Standing::kRejected;
    }

    const Question& q_;
    const Ends& ends_;
    Numbers n_;
    PointDecision out_;
};

}  // namespace

Numbers numbers_of(const Question& question, const Ends& ends) {
    Numbers n;
    Int free = ends.device_free_bytes;
    n.threshold = ends.total_bytes * kThresholdPerMille / kPerMille;
    n.outside = less(less(ends.total_bytes, free), question.reserved_bytes);
    n.available = free + (question.foreign() ? question.releasable_bytes : question.reserved_bytes);
    bool binds = cap_binds(question, ends);
    if (binds) n.available = *ends.cap_bytes;
    n.need =
        question.foreign() ? question.segment_request_bytes : *question.request_bytes + question.active_bytes;
    n.margin = n.available - n.need;
    n.deficit = less(n.threshold, n.margin);
    n.floor = std::max<Int>(
        1, std::min(n.threshold, std::max({Int{1}, -n.margin, n.threshold / kContributionDivisor})));
    n.retained = ends.retained;
    n.retained_upper = question.retained_high();
    if (binds) return n;
    if (question.others_bytes) {
        Int unexplained = less(less(n.outside, *question.others_bytes), question.named_bytes);
        Int grown = less(unexplained, std::max(question.baseline_unattributed_bytes, kOutsideAllowanceBytes));
        n.removable = n.removable_upper =
            std::min(n.outside, *question.others_bytes + question.named_growth_bytes + grown);
    } else {
        n.removable = less(n.outside, std::max(question.baseline_outside_bytes, kOutsideAllowanceBytes));
        n.removable_upper = n.outside;
    }
    return n;
}

PointDecision decide_point(const Question& question, const Ends& ends) {
    return Combination(question, ends).decide();
}

}  // namespace oracle
