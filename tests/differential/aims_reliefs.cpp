// SPDX-License-Identifier: Apache-2.0
//
// Inequalities of what would have made room: bytes that earlier steps left behind, and bytes that others
// hold.
#include <algorithm>

#include "aims.h"

namespace memsnap::differential {

namespace {

void leaking(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.expandable = false;
    others_known(plan, random);
    leaking_steps(plan, random, static_cast<unsigned>(random.between(7, 9)), random.between(2, 12) * kMiB);
    plan.failure.request_bytes = 400 * kMiB;
}

void settle_retained_deficit(Plan& plan, const Seen& seen, int64_t distance) {
    set_margin(plan, seen, seen.numbers.threshold - (seen.numbers.retained - distance));
}

// Each of the three parts of the floor in turn; none lets the relief suffice.
void settle_floor(Plan& plan, const Seen& seen, Wide relief, int64_t distance) {
    const Wide floor = relief - distance;
    switch (plan.seed % 3) {
        case 0:
            set_threshold(plan, floor);
            set_margin(plan, seen, -3 * floor);
            break;
        case 1:
            set_threshold(plan, floor * 2);
            set_margin(plan, seen, -floor);
            break;
        case 2:
            set_threshold(plan, floor * 4);
            set_margin(plan, seen, floor / 2);
            break;
        default:
            break;
    }
}

void settle_retained_floor(Plan& plan, const Seen& seen, int64_t distance) {
    settle_floor(plan, seen, seen.numbers.retained, distance);
}

void slow_leak(Plan& plan, Random& random, int side) {
    leaking(plan, random, side);
    plan.request_served_in_steps = true;
    plan.failure.request_bytes = random.between(60, 90) * 2 * kMiB;
    plan.failure.free_bytes = 100 * kMiB;
    plan.holes.clear();
}

// A quarter of the threshold, or what was lacking.
void settle_slow(Plan& plan, const Seen& seen, int64_t distance) {
    const Wide bound = seen.numbers.retained - distance;
    if (plan.seed % 2 == 0) {
        set_threshold(plan, bound * 2);
        set_margin(plan, seen, -bound);
    } else {
        set_threshold(plan, bound * 4);
        set_margin(plan, seen, bound / 2);
    }
}

void held_by_others(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.expandable = false;
    plan.outside.others_bytes = random.between(30, 900) * kMiB + random.below(1000);
    if (random.one_in(2)) plan.outside.first_others_bytes = random.below(300) * kMiB;
    if (random.one_in(2)) plan.outside.named_before_bytes = random.between(1, 80) * kMiB;
    if (random.one_in(2)) plan.outside.named_after_bytes = random.between(1, 80) * kMiB;
    if (random.one_in(2)) plan.outside.unnamed_bytes = random.between(1, 80) * kMiB;
    plan.failure.request_bytes = 400 * kMiB;
}

void settle_external_deficit(Plan& plan, const Seen& seen, int64_t distance) {
    set_margin(plan, seen, seen.numbers.threshold - (seen.numbers.removable - distance));
}

void settle_external_floor(Plan& plan, const Seen& seen, int64_t distance) {
    // What nobody explains rises with the card, and is not meant.
    settle_floor(plan, seen, Wide{*plan.outside.others_bytes} + Wide{seen.evidence.outside.named_growth},
                 distance);
}

// More than the allowance and the baseline explain, by processes that nobody named.
void held_by_somebody(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.card_bytes = random.between(12, 24) * kGiB;
    plan.fills_card = false;
    plan.outside.context_bytes = random.between(200, 2000) * kMiB;
    plan.failure.request_bytes = 8 * kGiB;
}

// Outside bytes and deficit both fall as free bytes rise: only the card's size tells them apart. It moves by
// less than a granule, to let the request stay whole granules.
void settle_external_high(Plan& plan, const Seen& seen, int64_t distance) {
    for (unsigned i = 0; i < 1024; ++i, ++plan.card_bytes) {
        const Wide total = plan.card_bytes;
        const Wide request = total - total * 15 / 1000 - seen.numbers.active - distance;
        if (request <= 0 || request % Wide{kGranule_bytes} != 0) continue;
        plan.failure.request_bytes = static_cast<uint64_t>(request);
        return;
    }
}

// A card in which what nobody explains is about what is lacking.
void settle_somebody_deficit(Plan& plan, const Seen& seen, int64_t distance) {
    // E falls by what free rises by, as the deficit does: the request decides.
    const Wide wanted_deficit = seen.numbers.removable - distance;
    const Wide more = wanted_deficit - seen.numbers.deficit;
    const Wide rest = more % Wide{kGranule_bytes};
    move(plan.failure.request_bytes, more - rest);
    move(plan.card_bytes, rest);
}

void leaking_beside_others(Plan& plan, Random& random, int side) {
    leaking(plan, random, side);
    plan.outside.others_bytes = random.between(10, 90) * kMiB + random.below(1000);
    plan.outside.first_others_bytes = random.below(20) * kMiB;
}

void settle_jointly(Plan& plan, const Seen& seen, int64_t distance) {
    const Wide together = seen.numbers.retained + seen.numbers.removable;
    set_margin(plan, seen, seen.numbers.threshold - (together - distance));
}

void named_growth(Plan& plan, Random& random, int side) {
    held_by_others(plan, random, side);
    plan.outside.named_after_bytes = random.between(40, 200) * kMiB;
    plan.outside.others_bytes = random.between(40, 200) * kMiB;
    plan.outside.unnamed_bytes = 0;
}

void settle_in_process(Plan& plan, const Seen& seen, int64_t distance) {
    const Wide now = Wide{seen.evidence.outside.named_growth} * 2 - seen.numbers.removable;
    move(*plan.outside.others_bytes, now - distance);
}

void came_late(Plan& plan, Random& random, int side) {
    if (random.one_in(3)) {
        held_by_somebody(plan, random, side);
    } else {
        held_by_others(plan, random, side);
    }
    plan.outside.earlier_outside_bytes = 100 * kMiB;
    plan.outside.baseline = false;
}

void settle_transient(Plan& plan, const Seen& seen, int64_t distance) {
    const Wide relief = seen.numbers.removable > 0 ? seen.numbers.removable : seen.numbers.removable_high;
    plan.outside.earlier_outside_bytes =
        static_cast<uint64_t>(std::max(Wide{0}, seen.numbers.outside - (relief + distance) / 2));
}

void at_the_age(Plan& plan, Random& random, int side) {
    held_by_others(plan, random, side);
    plan.outside.baseline = false;
    plan.outside.first_others_bytes.reset();
    plan.outside.earlier_outside_bytes = random.between(1, 50) * kMiB;
    plan.outside.earlier_age_ns = static_cast<uint64_t>(1'000'000'000 + side);
}

constexpr Aim kAims[] = {
    {"retained_deficit", leaking, settle_retained_deficit},
    {"retained_floor", leaking, settle_retained_floor},
    {"retained_slow", slow_leak, settle_slow},
    {"external_deficit", held_by_others, settle_external_deficit},
    {"external_floor", held_by_others, settle_external_floor},
    {"external_high_deficit", held_by_somebody, settle_external_high},
    {"external_somebody", held_by_somebody, settle_somebody_deficit},
    {"jointly", leaking_beside_others, settle_jointly},
    {"in_process", named_growth, settle_in_process},
    {"transient", came_late, settle_transient},
    {"transient_age", at_the_age},
};

}  // namespace

std::span<const Aim> relief_aims() {
    return kAims;
}

}  // namespace memsnap::differential
