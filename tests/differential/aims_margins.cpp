// SPDX-License-Identifier: Apache-2.0
//
// Inequalities between the request, what is free and what the card holds.
#include <algorithm>

#include "aims.h"

namespace memsnap::differential {

namespace {

uint64_t granules(Wide bytes) {
    return static_cast<uint64_t>(std::max(Wide{1}, bytes / Wide{kGranule_bytes})) * kGranule_bytes;
}

void exceed_largest_extent(Plan& plan, const Seen& seen) {
    plan.failure.request_bytes =
        std::max(plan.failure.request_bytes, seen.evidence.extents.largest_not_excluded + kGranule_bytes);
}

void holes(Plan& plan, Random& random, uint64_t count, uint64_t least_MiB, uint64_t greatest_MiB) {
    plan.holes.clear();
    for (uint64_t i = 0; i < count; ++i)
        plan.holes.push_back({random.between(least_MiB, greatest_MiB) * kMiB});
}

void plain(Plan& plan, Random& random, int) {
    varied(plan, random);
    others_known(plan, random);
}

void fragments(Plan& plan, Random& random, int) {
    varied(plan, random);
    if (!random.one_in(4)) others_known(plan, random);
    holes(plan, random, random.between(3, 6), 16, 40);
    plan.failure.request_bytes = 30 * kMiB;
}

// The card's size is for the aim to set.
void native_fragments(Plan& plan, Random& random, int side) {
    fragments(plan, random, side);
    plan.expandable = false;
}

void settle_threshold(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    set_margin(plan, seen, seen.numbers.threshold + distance);
}

void settle_zero(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    set_margin(plan, seen, distance);
}

void unknown_extents(Plan& plan, Random& random, int side) {
    fragments(plan, random, side);
    plan.tap = plan.failure.tells_stream = false;
    plan.failure.free_bytes = random.below(80 * kMiB);
}

void settle_largest_extent(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes = granules(Wide{seen.evidence.extents.largest_not_excluded} - distance);
}

void known_extents(Plan& plan, Random& random, int side) {
    fragments(plan, random, side);
    plan.tap = plan.failure.tells_stream = true;
    plan.failure.hole_freed_late = random.one_in(2);
    if (random.one_in(4)) plan.failure.call = CallMade::none_made;
}

void settle_compatible_extent(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes = granules(Wide{seen.evidence.extents.largest_compatible} - distance);
}

void settle_fragmented(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    set_threshold(plan, Wide{seen.evidence.extents.fragmented} - distance);
    set_margin(plan, seen, seen.numbers.threshold / 2);
}

// Holes of other streams and pools count as room, but not for this request.
void mixed_holes(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.card_bytes = random.between(2048, 3000) * kMiB;
    plan.expandable = false;
    if (!random.one_in(4)) others_known(plan, random);
    holes(plan, random, 4, 20, 40);
    plan.tap = plan.failure.tells_stream = true;
    for (uint64_t i = 0; i < 3; ++i)
        plan.holes.push_back({random.between(30, 60) * kMiB, 7, random.below(2)});
    plan.failure.request_bytes = 100 * kMiB;
}

Wide compatible(const Seen& seen) {
    return std::max(Wide{0}, seen.numbers.slack - Wide{seen.evidence.extents.incompatible});
}

void settle_strict(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes = granules(compatible(seen) - distance);
    set_free(plan, seen.numbers.threshold + Wide{10 * kMiB});
}

void settle_combined(Plan& plan, const Seen& seen, int64_t distance) {
    const Wide room = seen.numbers.available - Wide{seen.evidence.reserved.low};
    plan.failure.request_bytes = granules(compatible(seen) + 40 * Wide{kMiB});
    set_free(plan,
             Wide{plan.failure.free_bytes} + distance - (compatible(seen) + room - seen.numbers.request));
}

// Packed, all would fit, and less than the threshold would be left.
void settle_packed(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes = granules(compatible(seen) - distance);
    set_margin(plan, seen, seen.numbers.threshold / 3);
}

void refused_with_room(Plan& plan, Random& random, int side) {
    plain(plan, random, side);
    plan.expandable = false;
    plan.failure.free_bytes = 400 * kMiB + random.below(kMiB);
}

void settle_spare_threshold(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    plan.failure.segment_bytes =
        static_cast<uint64_t>(Wide{plan.failure.free_bytes} - seen.numbers.threshold - distance);
}

void settle_spare_zero(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    plan.failure.segment_bytes = static_cast<uint64_t>(Wide{plan.failure.free_bytes} - distance);
}

void foreign_victim(Plan& plan, Random& random, int side) {
    plain(plan, random, side);
    plan.victim = Victim::foreign;
    plan.end.exit_status = 1;
    plan.tap = false;
    holes(plan, random, 3, 20, 60);
    // A segment that is wholly free: what emptying the cache would give back.
    if (random.one_in(2)) plan.holes[0].guarded = false;
    plan.failure.segment_bytes = 50 * kMiB;
}

void foreign_victim_with_cache(Plan& plan, Random& random, int side) {
    foreign_victim(plan, random, side);
    plan.noise_events = 12;
    plan.steps.assign(2, StepPlan{});
}

void settle_releasable(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.segment_bytes =
        static_cast<uint64_t>(std::max(Wide{1}, Wide{seen.evidence.releasable.low} - distance));
}

void settle_slack(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.segment_bytes = static_cast<uint64_t>(std::max(Wide{1}, seen.numbers.slack - distance));
}

void settle_card(Plan& plan, const Seen&, int64_t distance) {
    plan.failure.request_bytes = static_cast<uint64_t>(Wide{plan.card_bytes} + distance);
}

void settle_corrupt(Plan& plan, const Seen&, int64_t distance) {
    plan.failure.request_bytes = (uint64_t{1} << 60) + static_cast<uint64_t>(distance);
}

void capped(Plan& plan, Random& random, int side) {
    fragments(plan, random, side);
    plan.failure.cap_bytes = random.between(200, 600) * kMiB;
}

void settle_cap(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    plan.failure.cap_bytes =
        static_cast<uint64_t>(Wide{plan.failure.free_bytes} + Wide{seen.evidence.reserved.low} + distance);
}

void cap_implied(Plan& plan, Random& random, int side) {
    fragments(plan, random, side);
    plan.failure.gives_back_cache = random.one_in(2);
    plan.failure.call = random.one_in(2) ? CallMade::none_made : CallMade::unknown;
    plan.failure.sampled = plan.failure.call == CallMade::unknown || random.one_in(2);
    plan.failure.observed = !plan.failure.sampled;
}

void settle_implied(Plan& plan, const Seen& seen, int64_t distance) {
    exceed_largest_extent(plan, seen);
    set_free(plan, Wide{seen.evidence.segment_request.low} + distance);
}

constexpr auto kGranule = static_cast<int64_t>(kGranule_bytes);

constexpr Aim kAims[] = {
    {"margin_threshold", fragments, settle_threshold},
    {"margin_zero", fragments, settle_zero},
    {"largest_extent", unknown_extents, settle_largest_extent, kGranule},
    {"compatible_extent", known_extents, settle_compatible_extent, kGranule},
    {"fragmented_threshold", native_fragments, settle_fragmented},
    {"kind_strict", mixed_holes, settle_strict, kGranule},
    {"kind_combined", mixed_holes, settle_combined},
    {"fits_packed", fragments, settle_packed, kGranule},
    {"spare_threshold", refused_with_room, settle_spare_threshold},
    {"spare_zero", refused_with_room, settle_spare_zero},
    {"foreign_releasable", foreign_victim_with_cache, settle_releasable},
    {"foreign_slack", foreign_victim, settle_slack},
    {"request_card", plain, settle_card},
    {"request_corrupt", plain, settle_corrupt, kGranule},
    {"cap_available", capped, settle_cap},
    {"cap_implied", cap_implied, settle_implied},
};

}  // namespace

std::span<const Aim> margin_aims() {
    return kAims;
}

}  // namespace memsnap::differential
