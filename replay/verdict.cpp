// SPDX-License-Identifier: Apache-2.0
//
// From evidence with gaps to a verdict: unknown numbers become intervals where the rules allow it, every
// combination of ends is decided exactly, and what they share is the verdict. The qualifiers that speak about
// missing evidence are added here.
#include "verdict.h"

#include <algorithm>
#include <vector>

#include "decide_point.h"
#include "policy.h"

namespace memsnap {
namespace {

using enum Hypothesis;

// The evidence with unknown numbers bounded, ready to be evaluated at its ends.
struct Bounded {
    Measure request;
    Measure segment_request;
    Wide total_low = 0, total_high = 0;
    bool total_known = false;
    Measure device_free;
    Measure reserved;
    Measure allocated;
    Measure deferred;
    Measure releasable;
    Measure cap;
    bool cap_or_driver_refused = false;
};

uint64_t minus(uint64_t value, uint64_t less) {
    return value > less ? value - less : 0;
}

// Of a card whose size nobody told it is known what it holds at least, and what no card exceeds.
void bound_total(const Evidence& evidence, Bounded& bounded) {
    bounded.total_low = evidence.total.low;
    bounded.total_high = evidence.total.high;
    bounded.total_known = evidence.total.known();
    if (bounded.total_known) return;
    bounded.total_low = Wide{evidence.reserved.low} + evidence.device_free.low;
    bounded.total_high =
        std::max(Wide{evidence.reserved.high} + evidence.device_free.high, Wide{policy::kLargestCard_bytes});
}

// Device-free that nobody observed: below what was refused, else whatever the card had beside the cache.
Measure bounded_free(const Evidence& evidence) {
    if (evidence.device_free.known()) return evidence.device_free;
    const uint64_t beside_cache = minus(evidence.total.high, evidence.reserved.low);
    if (evidence.device_call != DeviceCall::failed) return Measure::between(0, beside_cache);
    return Measure::between(0, std::min(beside_cache, minus(evidence.segment_request.high, 1)));
}

// A refusal without a device call while the device had room: a limit between V and V + N did it. When it is
// not known whether a call was made, the driver may have refused instead.
void imply_cap(const Evidence& evidence, Bounded& bounded) {
    if (evidence.allocator == FailedAllocator::foreign || bounded.cap.known()) return;
    const bool room = evidence.device_free.known() && evidence.segment_request.known() &&
                      evidence.device_free.low >= evidence.segment_request.high;
    if (!room || evidence.device_call == DeviceCall::failed) return;
    const Wide top = Wide{evidence.reserved.high} + evidence.segment_request.high - 1;
    const uint64_t high = top > Wide{UINT64_MAX} ? UINT64_MAX : static_cast<uint64_t>(top);
    bounded.cap = Measure::between(evidence.reserved.low, std::max(high, evidence.reserved.low));
    bounded.cap_or_driver_refused = evidence.device_call == DeviceCall::unknown;
}

std::optional<Bounded> bound(const Evidence& evidence) {
    const bool foreign = evidence.allocator == FailedAllocator::foreign;
    const Measure& asked = foreign ? evidence.segment_request : evidence.request;
    const bool card_known = evidence.total.known() || evidence.device_free.known();
    const bool enough =
        asked.known() && card_known && evidence.reserved.known() && evidence.allocated.known();
    if (!enough) return std::nullopt;
    Bounded bounded;
    bounded.request = asked;
    bounded.segment_request = evidence.segment_request.known() ? evidence.segment_request : asked;
    bound_total(evidence, bounded);
    bounded.reserved = evidence.reserved;
    bounded.allocated = evidence.allocated;
    bounded.device_free = bounded_free(evidence);
    // Not an interval: unknown deferred bytes count as none, and a qualifier says so.
    bounded.deferred = evidence.deferred.known() ? evidence.deferred : Measure::derived(0);
    const uint64_t slack = minus(evidence.reserved.high, evidence.allocated.low);
    bounded.releasable =
        evidence.releasable.known() || !foreign ? evidence.releasable : Measure::between(0, slack);
    bounded.cap = foreign ? Measure{} : evidence.cap;
    imply_cap(evidence, bounded);
    return bounded;
}

// Of a card whose size nobody told, besides the smallest: the largest, and where statuses turn in between, at
// the first threshold above the margin and at the last card before removable bytes grow with it.
std::vector<Wide> larger_totals(const Point& point, const Evidence& evidence, const Bounded& bounded) {
    std::vector<Wide> totals;
    const auto add_between = [&](Wide total) {
        if (total > bounded.total_low && total < bounded.total_high) totals.push_back(total);
    };
    Wide available = point.device_free + point.reserved;
    if (point.cap) available = std::min(available, *point.cap);
    const Wide margin = available - point.request - point.allocated - point.deferred;
    constexpr Wide kPermille = policy::kThreshold_permille;
    if (margin >= 0) add_between((1000 * (margin + 1) + kPermille - 1) / kPermille);
    const Outside& outside = evidence.outside;
    const Wide named = outside.others.known() ? Wide{outside.others.low} + outside.named_bytes : Wide{0};
    add_between(point.reserved + point.device_free + named + policy::kUnnamedOutsideAllowance_bytes);
    if (bounded.total_high > bounded.total_low) totals.push_back(bounded.total_high);
    return totals;
}

// One point for each combination of ends; the first has every low end.
std::vector<Point> ends(const Bounded& bounded, const Evidence& evidence) {
    struct Field {
        const Measure* measure;
        Wide Point::*member;
    };
    const Field fields[] = {
        {&bounded.request, &Point::request},         {&bounded.segment_request, &Point::segment_request},
        {&bounded.device_free, &Point::device_free}, {&bounded.reserved, &Point::reserved},
        {&bounded.allocated, &Point::allocated},     {&bounded.deferred, &Point::deferred},
        {&bounded.releasable, &Point::releasable}};
    std::vector<Point> points(1);
    points.front().total = bounded.total_low;
    points.front().retained = evidence.growth.retained_low();
    const auto spread = [&](auto member, Wide low, Wide high) {
        const size_t count = points.size();
        for (size_t index = 0; index < count; ++index) {
            points[index].*member = low;
            if (low == high) continue;
            points.push_back(points[index]);
            points.back().*member = high;
        }
    };
    if (bounded.total_known) spread(&Point::total, bounded.total_low, bounded.total_high);
    for (const Field& field : fields)
        spread(field.member, field.measure->low, field.measure->high);
    if (bounded.cap.known()) spread(&Point::cap, bounded.cap.low, bounded.cap.high);
    if (bounded.total_known) return points;
    const size_t count = points.size();
    for (size_t index = 0; index < count; ++index) {
        for (const Wide total : larger_totals(points[index], evidence, bounded)) {
            points.push_back(points[index]);
            points.back().total = total;
        }
    }
    return points;
}

// Keeps what two ends share. Of two different answers (a full and a pinned cache, say) both are named: either
// way the four are rejected.
void merge(Verdict& verdict, const Verdict& other) {
    for (const Hypothesis one : kHypotheses) {
        Finding& mine = verdict.of(one);
        const Finding& theirs = other.of(one);
        mine.qualifiers = mine.qualifiers.common_with(theirs.qualifiers);
        if (mine.status != theirs.status) mine.status = Status::undecidable;
        if (!mine.margin || !theirs.margin) {
            mine.margin = mine.margin_high = std::nullopt;
            continue;
        }
        mine.margin = std::min(*mine.margin, *theirs.margin);
        mine.margin_high = std::max(*mine.margin_high, *theirs.margin_high);
    }
    const bool both_answered = verdict.answered && other.answered;
    verdict.qualifiers = both_answered ? verdict.qualifiers.joined_with(other.qualifiers)
                                       : verdict.qualifiers.common_with(other.qualifiers);
    verdict.answered = both_answered;
    if (!other.numbers) verdict.numbers.reset();
}

// One end whose numbers contradict each other does not speak against the other ends: it cannot be the truth.
bool contradicts(const Verdict& verdict) {
    return verdict.qualifiers.has(Qualifier::inconsistent_numbers);
}

// Where births are not known Q is an interval: between its ends, where statuses turn with it, and its high
// end.
std::vector<Wide> larger_retained(const Numbers& n, const Growth& growth) {
    std::vector<Wide> retained;
    if (!growth.judged()) return retained;
    const Wide low = growth.retained_low(), high = growth.retained_high();
    const Wide slow = std::max(-n.margin, n.threshold / Wide{policy::kContributionDivisor});
    for (const Wide turn : {n.contribution_floor, slow, n.deficit - n.removable, n.removable, n.deficit}) {
        if (turn > low && turn < high) retained.push_back(turn);
    }
    if (high > low) retained.push_back(high);
    return retained;
}

// The decisions at a point and at every larger Q.
std::vector<Verdict> decide_each(Point point, const Evidence& evidence) {
    std::vector<Verdict> each = {decide_point(point, evidence)};
    if (!each.front().numbers) return each;
    for (const Wide retained : larger_retained(*each.front().numbers, evidence.growth)) {
        point.retained = retained;
        each.push_back(decide_point(point, evidence));
    }
    return each;
}

Verdict decide_all(const std::vector<Point>& points, const Evidence& evidence) {
    std::optional<Verdict> shared;
    std::optional<Verdict> contradiction;
    std::vector<Verdict> all;
    for (const Point& point : points) {
        for (const Verdict& one : decide_each(point, evidence))
            all.push_back(one);
    }
    for (const Verdict& one : all) {
        if (contradicts(one)) {
            contradiction = one;
        } else if (shared) {
            merge(*shared, one);
        } else {
            shared = one;
        }
    }
    return shared ? *shared : *contradiction;
}

void qualify_growth(const Evidence& evidence, Verdict& verdict) {
    Finding& finding = verdict.of(retention);
    const bool undecided = finding.status == Status::undecidable;
    verdict.qualifiers.add_if(
        undecided && verdict.numbers && evidence.growth.judged() && evidence.growth.unknown_births > 0,
        Qualifier::births_unknown);
    switch (evidence.growth.basis) {
        case GrowthBasis::marked:
            finding.qualifiers.add_if(evidence.growth.module_calls, Qualifier::inferred);
            break;
        case GrowthBasis::certified:
            finding.qualifiers.add(Qualifier::inferred);
            break;
        case GrowthBasis::uncertified:
            finding.qualifiers.add(Qualifier::inferred);
            verdict.qualifiers.add_if(undecided && verdict.numbers && verdict.numbers->deficit > 0 &&
                                          verdict.numbers->retained_high >= verdict.numbers->deficit,
                                      Qualifier::growth_unmarked);
            break;
        case GrowthBasis::too_few:
            verdict.qualifiers.add_if(undecided && verdict.numbers, Qualifier::too_few_boundaries);
            break;
        case GrowthBasis::lapped:
            verdict.qualifiers.add_if(undecided && verdict.numbers, Qualifier::boundaries_lapped);
            break;
    }
}

// Whose bytes they are, where outside bytes matter at all.
void qualify_external(const Evidence& evidence, Verdict& verdict) {
    Finding& finding = verdict.of(external);
    if (finding.status == Status::rejected || !verdict.numbers) return;
    const Numbers& n = *verdict.numbers;
    const Wide relief = n.removable > 0 ? n.removable : n.removable_high;
    if (relief <= 0) return;
    const Outside& outside = evidence.outside;
    finding.qualifiers.add_if(!outside.others.known(), Qualifier::holder_unknown);
    finding.qualifiers.add_if(Wide{outside.named_growth} * 2 >= relief, Qualifier::in_process);
    finding.qualifiers.add_if(outside.holder_shares_job, Qualifier::same_job);
    const bool came_late =
        outside.earlier_outside.known() && (n.outside - Wide{outside.earlier_outside.low}) * 2 >= relief;
    finding.qualifiers.add_if(came_late, Qualifier::transient);
}

void qualify(const Evidence& evidence, bool cap_or_driver_refused, Verdict& verdict) {
    qualify_growth(evidence, verdict);
    qualify_external(evidence, verdict);
    Qualifiers& qualifiers = verdict.qualifiers;
    qualifiers.add_if(cap_or_driver_refused && verdict.numbers, Qualifier::cap_or_driver_refused);
    qualifiers.add_if(evidence.allocator == FailedAllocator::pytorch && !evidence.deferred.known(),
                      Qualifier::deferred_free_not_excluded);
    qualifiers.add_if(evidence.fatal, Qualifier::fatal);
    qualifiers.add_if(evidence.survived, Qualifier::survived);
    qualifiers.add_if(evidence.blind, Qualifier::blind);
    qualifiers.add_if(evidence.incomplete, Qualifier::incomplete);
}

}  // namespace

std::string_view name(Hypothesis hypothesis) {
    switch (hypothesis) {
        case live_set:
            return "live_set";
        case retention:
            return "retention";
        case fragmentation:
            return "fragmentation";
        case external:
            return "external";
    }
    return "";
}

std::string_view name(Status status) {
    switch (status) {
        case Status::primary:
            return "primary";
        case Status::contributing:
            return "contributing";
        case Status::rejected:
            return "rejected";
        case Status::undecidable:
            return "undecidable";
    }
    return "";
}

std::optional<Hypothesis> Verdict::primary() const {
    const auto found = std::ranges::find_if(
        kHypotheses, [this](Hypothesis one) { return of(one).status == Status::primary; });
    return found == kHypotheses.end() ? std::nullopt : std::optional(*found);
}

int Verdict::exit_status() const {
    return answered || primary() ? 10 : 11;
}

Verdict decide(const Evidence& evidence) {
    const std::optional<Bounded> bounded = bound(evidence);
    Verdict verdict;
    // A corrupt size needs no other number to be recognised.
    const bool foreign = evidence.allocator == FailedAllocator::foreign;
    const Measure& asked = foreign ? evidence.segment_request : evidence.request;
    if (bounded) {
        verdict = decide_all(ends(*bounded, evidence), evidence);
    } else if (asked.known() && asked.low >= policy::kCorruptRequest_bytes) {
        verdict.qualifiers.add(Qualifier::corrupt_size);
    }
    qualify(evidence, bounded && bounded->cap_or_driver_refused, verdict);
    return verdict;
}

}  // namespace memsnap
