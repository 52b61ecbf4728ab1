// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's own tools tell: failures on cards of unknown size, recordings that the recorder did not
// write, and what was asked for.
#include "aims.h"

namespace memsnap::differential {

namespace {

constexpr Wide kGreatestThreshold_bytes = (Wide{1} << 40) * 15 / 1000;
constexpr unsigned kOrigins[] = {1, 2, 3};  // 3: of a later version

// Only the allocator's own trace tells what was free, and nobody the card's size.
void card_unknown(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.origin = random.one_in(3) ? 0 : random.one_of(kOrigins);
    plan.second_device = false;
    plan.failure.total_told = plan.failure.observed = false;
    plan.failure.tells_free = true;
    if (random.one_in(2)) plan.failure.call = random.one_in(2) ? CallMade::none_made : CallMade::unknown;
    if (random.one_in(3)) others_known(plan, random);
    if (random.one_in(3)) plan.outside.named_after_bytes = random.below(40 * kMiB);
    if (random.one_in(3)) leaking_steps(plan, random, 8, random.between(1, 20) * kMiB);
    if (random.one_in(6)) plan.failure.cap_bytes = random.between(200, 600) * kMiB;
    plan.fills_card = false;
}

void settle_least_threshold(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes =
        std::max(plan.failure.request_bytes, seen.evidence.extents.largest_not_excluded + kGranule_bytes);
    set_margin(plan, seen, seen.numbers.threshold + distance);
}

void settle_greatest_threshold(Plan& plan, const Seen& seen, int64_t distance) {
    set_margin(plan, seen, kGreatestThreshold_bytes + distance);
}

// More than any card has is in use or free.
void beyond_cards(Plan& plan, Random& random, int side) {
    card_unknown(plan, random, side);
    plan.failure.free_bytes = (uint64_t{1} << 40) - plan.kept_bytes + random.below(plan.kept_bytes * 2);
}

// What a person says of the card, against what PyTorch and the device say.
void stated_total(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.origin = random.one_of(kOrigins);
    plan.total_stated = true;
    plan.fills_card = false;
    plan.failure.tells_free = random.one_in(2);
    if (random.one_in(4)) plan.loss.counted_lost = 3;
}

void settle_stated_total(Plan& plan, const Seen& seen, int64_t distance) {
    plan.card_bytes =
        static_cast<uint64_t>(Wide{plan.failure.free_bytes} + Wide{seen.evidence.reserved.low} - distance);
}

// Holes whose stream and pool are told, or told again, and what was freed since the last allocation.
void told_by_tools(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.origin = random.one_of(kOrigins);
    if (random.one_in(2)) others_known(plan, random);
    plan.tap = plan.failure.tells_stream = true;
    plan.pools_untold = random.one_in(3);
    plan.failure.tells_again = random.one_in(2);
    plan.failure.tells_free = random.one_in(2);
    plan.failure.observed = random.one_in(2);
    if (random.one_in(2)) plan.failure.call = random.one_in(2) ? CallMade::none_made : CallMade::unknown;
    plan.failure.hole_freed_late = random.one_in(2);
    plan.failure.served_before = random.one_in(2);
    if (random.one_in(3)) {
        plan.failure.tells_free = true;
        plan.failure.total_told = plan.failure.observed = false;
    }
    for (int i = 0; i < 3; ++i)
        plan.holes.push_back({random.between(20, 60) * kMiB, random.below(2) * 7, random.below(2)});
    if (random.one_in(2)) plan.holes.push_back({random.between(40, 60) * kMiB});
    plan.failure.request_bytes = random.between(15, 60) * kMiB;
}

void requests(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.tap = true;
    plan.sums_requests = random.one_in(2);
    plan.failure.tells_stream = !random.one_in(4);
    plan.noise_events = 8;
    plan.failure.happens = !random.one_in(4);
    if (random.one_in(3)) plan.origin = random.one_of(kOrigins);
    if (random.one_in(3)) plan.loss.late_start = true;
    plan.loss.initial_site = random.below(2) * 77;
    // A ring that goes round has lost what older blocks were asked for.
    if (random.one_in(3) && !plan.expandable) plan.ring_records = 64;
}

// A failure that the job got over is near enough to have its own trace taken for the last one's.
void failed_before(Plan& plan, Random& random, int) {
    varied(plan, random);
    leaking_steps(plan, random, static_cast<unsigned>(random.between(2, 7)), 4 * kMiB);
    plan.tap = true;
    plan.caught_failure = true;
    plan.failure.tells_stream = random.one_in(2);
    plan.failure.tells_free = random.one_in(2);
    plan.failure.observed = random.one_in(2);
    if (random.one_in(2)) plan.failure.call = CallMade::unknown;
    if (random.one_in(2)) plan.origin = random.one_of(kOrigins);
    plan.holes.clear();
}

constexpr Aim kAims[] = {
    {"card_unknown_least", card_unknown, settle_least_threshold},
    {"card_unknown_greatest", card_unknown, settle_greatest_threshold},
    {"card_unknown", card_unknown, nullptr},
    {"beyond_cards", beyond_cards, nullptr},
    {"stated_total", stated_total, settle_stated_total},
    {"told_by_tools", told_by_tools, nullptr},
    {"requests", requests, nullptr},
    {"failed_before", failed_before, nullptr},
};

}  // namespace

std::span<const Aim> tool_aims() {
    return kAims;
}

}  // namespace memsnap::differential
