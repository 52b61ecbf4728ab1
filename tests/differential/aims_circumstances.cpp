// SPDX-License-Identifier: Apache-2.0
//
// What a recording holds or lacks, who failed and how the job went on; and jobs that nobody aims.
#include "aims.h"

namespace memsnap::differential {

namespace {

void total_unknown(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.failure.total_told = false;
    plan.failure.observed = false;
    plan.second_device = false;
    if (random.one_in(3)) others_known(plan, random);
    if (random.one_in(3)) leaking_steps(plan, random, 7, 4 * kMiB);
    if (random.one_in(8)) plan.failure.request_bytes = uint64_t{1} << 60;
}

void free_unknown(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.outside.baseline = true;
    plan.failure.observed = false;
    if (random.one_in(2)) others_known(plan, random);
    if (random.one_in(3)) leaking_steps(plan, random, 8, random.between(2, 20) * kMiB);
    if (random.one_in(2)) plan.failure.call = CallMade::none_made;
    if (random.one_in(2)) plan.card_bytes = random.between(600, 1500) * kMiB;
}

void contradicting(Plan& plan, Random& random, int) {
    varied(plan, random);
    if (random.one_in(3)) plan.loss.lost_records = 1;
    if (random.one_in(2)) plan.loss.counted_lost = 3;
}

void settle_contradicting(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.free_bytes = static_cast<uint64_t>(seen.evidence.total.low - seen.evidence.reserved.low +
                                                    static_cast<uint64_t>(distance));
}

void losses(Plan& plan, Random& random, int) {
    varied(plan, random);
    if (random.one_in(2)) others_known(plan, random);
    if (random.one_in(2)) leaking_steps(plan, random, 7, 5 * kMiB);
    plan.loss.late_start = random.one_in(2);
    if (plan.loss.late_start && random.one_in(2)) plan.loss.unseen_bytes = random.between(1, 200) * kMiB;
    plan.loss.blind = random.one_in(3);
    plan.loss.counted_lost = random.one_in(3) ? random.between(1, 9) : 0;
    plan.loss.lost_records = static_cast<unsigned>(random.below(4));
    plan.loss.lost_before_history = random.one_in(2);
    if (random.one_in(3)) plan.loss.incomplete_from = random.between(1, 60);
}

void uncached(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.victim = random.one_in(2) ? Victim::uncached : Victim::async_pool;
    plan.tap = plan.expandable = plan.second_device = false;
    if (random.one_in(2)) others_known(plan, random);
    plan.failure.observed = !random.one_in(4);
    plan.failure.sampled = random.one_in(3);
    plan.failure.free_bytes = random.below(2) * 100 * kMiB + random.below(80 * kMiB);
}

void settle_uncached(Plan& plan, const Seen& seen, int64_t distance) {
    plan.failure.request_bytes = static_cast<uint64_t>(Wide{plan.failure.free_bytes} + 1);
    if (plan.seed % 2 == 0) set_margin(plan, seen, seen.numbers.threshold + distance);
}

void got_over(Plan& plan, Random& random, int) {
    varied(plan, random);
    if (random.one_in(2)) others_known(plan, random);
    plan.end.served_later = random.one_in(2);
    plan.end.step_later = random.one_in(2);
    plan.end.later_events = static_cast<unsigned>(random.below(12));
    plan.end.exit_status = static_cast<int>(random.below(2));
}

void probes(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.victim = Victim::foreign;
    plan.end.exit_status = static_cast<int>(random.below(2));
}

void private_pools(Plan& plan, Random& random, int) {
    varied(plan, random);
    if (random.one_in(2)) others_known(plan, random);
    plan.failure.gives_back_cache = random.one_in(2);
    plan.failure.capturing = random.one_in(3);
    for (uint64_t i = 0; i < 3; ++i)
        plan.holes.push_back(
            {random.between(20, 60) * kMiB, random.below(2) * 7, random.below(2), random.one_in(2)});
    plan.failure.stream = random.below(2) * 7;
    plan.failure.pool = random.below(2);
}

void deferred(Plan& plan, Random& random, int) {
    varied(plan, random);
    plan.tap = true;
    if (random.one_in(2)) others_known(plan, random);
    plan.deferred_bytes = random.between(10, 200) * kMiB;
    plan.failure.tells_stream = !random.one_in(3);
    plan.holes.push_back({random.between(60, 100) * kMiB});
    plan.failure.hole_freed_late = true;
    plan.failure.request_bytes = random.between(50, 110) * kMiB;
}

void natural(Plan& plan, Random& random, int) {
    plan.seed = random.below(UINT64_MAX);
    plan.natural_events = static_cast<unsigned>(random.between(40, 160));
    plan.card_bytes = random.between(300, 1200) * kMiB + random.below(4096);
    plan.expandable = random.one_in(3);
    plan.tap = random.one_in(3);
    plan.second_device = random.one_in(3);
    if (random.one_in(3)) plan.origin = static_cast<unsigned>(random.between(1, 3));
    plan.total_stated = random.one_in(8);
    plan.silent = random.one_in(4);
    // A window that loses what was told of an expandable segment's page is not part of the rules.
    plan.ring_records = plan.expandable && plan.tap ? 4096 : random.one_in(3) ? 64 : 512;
    if (random.one_in(2)) plan.end.exit_status = static_cast<int>(random.below(2));
}

void damaged(Plan& plan, Random& random, int side) {
    if (random.one_in(2)) {
        natural(plan, random, side);
        plan.ring_records = 4096;
    } else {
        varied(plan, random);
        leaking_steps(plan, random, 7, 4 * kMiB);
    }
    plan.end.exit_status = 1;
    plan.damaged = true;
}

constexpr Aim kAims[] = {
    {"total_unknown", total_unknown, nullptr},
    {"free_unknown", free_unknown, nullptr},
    {"contradicting", contradicting, settle_contradicting},
    {"losses", losses, nullptr},
    {"without_cache", uncached, settle_uncached},
    {"got_over", got_over, nullptr},
    {"probes", probes, nullptr},
    {"private_pools", private_pools, nullptr},
    {"deferred_frees", deferred, nullptr},
    {"natural", natural, nullptr},
    {"damaged", damaged, nullptr},
};

}  // namespace

std::span<const Aim> circumstance_aims() {
    return kAims;
}

}  // namespace memsnap::differential
