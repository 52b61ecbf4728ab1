// SPDX-License-Identifier: Apache-2.0
//
// What may be concluded from earlier steps: how many there are, whether they were marked, and what they left.
#include "aims.h"

namespace memsnap::differential {

namespace {

void leaking(Plan& plan, Random& random, unsigned boundaries) {
    varied(plan, random);
    others_known(plan, random);
    leaking_steps(plan, random, boundaries, random.between(4, 12) * kMiB);
    plan.failure.request_bytes = 400 * kMiB;
}

void settle_retained(Plan& plan, const Seen& seen, int64_t distance) {
    set_margin(plan, seen, seen.numbers.threshold - (seen.numbers.retained_high - distance));
}

// Of seven boundaries' last five pairs, all but these grow; every step leaks all the same.
void growing_pairs(Plan& plan, Random& random, int side) {
    leaking(plan, random, 7);
    const int shrinking = 1 - side;
    for (int i = 0; i < shrinking; ++i) {
        StepPlan& step = plan.steps[i == 0 ? 6 : 3];
        step.given_up_bytes = step.leak_bytes + kMiB + random.below(2) * kGranule_bytes;
    }
    if (shrinking > 0 && random.one_in(3)) plan.steps[6].given_up_bytes = plan.steps[6].leak_bytes;
}

// Every second step leaks: only pairs further apart grow, which fewer than 21 boundaries have none of.
void spaced_pairs(Plan& plan, Random& random, int side) {
    leaking(plan, random, static_cast<unsigned>(21 + side));
    for (size_t index = random.below(2); index < plan.steps.size(); index += 2)
        plan.steps[index] = {};
}

// The steps that can be judged are 2 to 5 of seven.
void survivor_steps(Plan& plan, Random& random, int side) {
    leaking(plan, random, 7);
    const uint64_t leak_bytes = plan.steps[0].leak_bytes;
    for (StepPlan& step : plan.steps)
        step = {0, 0, 2 * kMiB + random.below(4) * kGranule_bytes};
    for (int i = 0; i < 3 + side; ++i)
        plan.steps[static_cast<size_t>(2 + i)] = {leak_bytes, 0, 0};
}

void boundary_count(Plan& plan, Random& random, int side) {
    leaking(plan, random, static_cast<unsigned>(6 + side));
}

void unmarked(Plan& plan, Random& random) {
    leaking(plan, random, 0);
    plan.steps.clear();
    plan.marking = Marking::none;
    plan.holes.clear();
    plan.heartbeat = HeartbeatPlan{0, 0, random.between(2, 8) * kMiB};
}

void regular_runs(Plan& plan, Random& random, int side) {
    unmarked(plan, random);
    plan.heartbeat->skipped_beats = static_cast<unsigned>(1 - side);
}

void alternating_runs(Plan& plan, Random& random, int side) {
    unmarked(plan, random);
    plan.heartbeat->single_thread_rounds = static_cast<unsigned>(1 - side);
}

void guessed_steps(Plan& plan, Random& random, int) {
    unmarked(plan, random);
    plan.heartbeat->single_thread_rounds = random.one_in(2) ? 16 : 0;
}

void too_few(Plan& plan, Random& random, int) {
    leaking(plan, random, static_cast<unsigned>(random.below(6)));
}

// A ring that goes round may lose what the allocator's trace told of a page, and whether the rest of its
// segment speaks for it is not part of the rules.
void go_round(Plan& plan, unsigned ring_records) {
    plan.ring_records = ring_records;
    if (plan.tap) plan.expandable = false;
}

// The ring went round since the failure; a keyframe has it still.
void lapped(Plan& plan, Random& random, int) {
    leaking(plan, random, static_cast<unsigned>(random.between(2, 8)));
    if (random.one_in(2)) plan.marking = Marking::none;
    go_round(plan, 64);
    plan.end.keyframe = true;
    plan.end.later_events = 80;
    plan.end.exit_status.reset();
}

// The ring went round before the failure: the window begins in the middle of the history.
void worn(Plan& plan, Random& random, int) {
    leaking(plan, random, 8);
    plan.noise_events = 12;
    go_round(plan, static_cast<unsigned>(random.between(32, 80)));
    if (random.one_in(2)) plan.end.keyframe = true;
}

void kept_since_failure(Plan& plan, Random& random, int) {
    leaking(plan, random, static_cast<unsigned>(random.between(7, 10)));
    plan.caught_failure = true;
}

// No failure at all: the lanes of the device.
void shapes(Plan& plan, Random& random, int) {
    const unsigned kind = static_cast<unsigned>(random.below(3));
    if (kind == 0) {
        leaking(plan, random, static_cast<unsigned>(random.between(0, 9)));
    } else if (kind == 1) {
        unmarked(plan, random);
    } else {
        varied(plan, random);
    }
    plan.card_bytes = random.between(200, 4000) * kMiB;
    plan.outside.earlier_outside_bytes = random.between(1, 60) * kMiB;
    plan.failure.happens = false;
    plan.end.exit_status = 0;
    if (random.one_in(4)) plan.failure.total_told = false;
}

constexpr Aim kAims[] = {
    {"growing_pairs", growing_pairs, nullptr},
    {"survivor_steps", survivor_steps, nullptr},
    {"boundary_count", boundary_count, nullptr},
    {"regular_runs", regular_runs, nullptr},
    {"alternating_runs", alternating_runs, nullptr},
    {"guessed_steps", guessed_steps, settle_retained},
    {"too_few_steps", too_few, settle_retained},
    {"lapped", lapped, nullptr},
    {"worn_ring", worn, nullptr},
    {"kept_since_failure", kept_since_failure, nullptr},
    {"shapes", shapes, nullptr},
    {"spaced_pairs", spaced_pairs, nullptr},
};

}  // namespace

std::span<const Aim> history_aims() {
    return kAims;
}

}  // namespace memsnap::differential
