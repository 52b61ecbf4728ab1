// SPDX-License-Identifier: Apache-2.0
//
// What several aims do to a plan.
#include "aims.h"

#include <algorithm>

namespace memsnap::differential {

namespace {

constexpr Wide kPage_bytes = 20 * kMiB;

std::vector<const Aim*> listed_aims(std::string_view only) {
    std::vector<const Aim*> all;
    for (const auto list : {margin_aims(), relief_aims(), history_aims(), circumstance_aims(), tool_aims()}) {
        for (const Aim& aim : list) {
            if (only.empty() || only == aim.name) all.push_back(&aim);
        }
    }
    return all;
}

// Reserved and live bytes rise alike, so that no margin moves. An expandable segment would take a line for
// each of its pages: there the card becomes smaller instead, until the aim has settled.
void fill_card(Plan& plan, const Seen& seen, int round) {
    const Wide spare = seen.numbers.outside - Wide{outside_bytes(plan.outside)};
    if (plan.expandable) {
        if (round < 2) move(plan.card_bytes, -spare);
        return;
    }
    const Wide more = spare >= 0 ? spare / kPage_bytes : (spare - kPage_bytes + 1) / kPage_bytes;
    const Wide kept = Wide{plan.kept_bytes} + more * kPage_bytes;
    plan.kept_bytes = static_cast<uint64_t>(std::max(kept, kPage_bytes));
}

}  // namespace

Aimed make_trace(uint64_t seed, std::string_view only_aim, const Look& look) {
    constexpr int kRounds = 6;  // one number leads to another: an aim is taken again until nothing moves
    const std::vector<const Aim*> aims = listed_aims(only_aim);
    if (aims.empty()) return {};
    Aimed made;
    made.aim = aims[seed % aims.size()];
    made.side = static_cast<int>(seed / aims.size() % 3) - 1;
    Random random(seed * 0x9e3779b97f4a7c15);
    Plan plan;
    made.aim->prepare(plan, random, made.side);
    made.lines = build(plan);
    if (made.aim->settle == nullptr && !plan.fills_card) return made;
    for (int round = 0; round < kRounds; ++round) {
        const auto seen = look(made.lines);
        if (!seen) break;
        if (plan.fills_card) fill_card(plan, *seen, round);
        if (made.aim->settle != nullptr) made.aim->settle(plan, *seen, made.side * made.aim->unit_bytes);
        std::vector<std::string> lines = build(plan);
        if (lines == made.lines) break;
        made.lines = std::move(lines);
    }
    return made;
}

void move(uint64_t& bytes, Wide by) {
    bytes = static_cast<uint64_t>(std::max(Wide{0}, Wide{bytes} + by));
}

namespace {

void make_room(Plan& plan, Wide bytes) {
    if (!plan.fills_card || bytes <= 0) return;
    const Wide pages = (bytes + kPage_bytes - 1) / kPage_bytes;
    plan.kept_bytes =
        static_cast<uint64_t>(std::max(kPage_bytes, Wide{plan.kept_bytes} - pages * kPage_bytes));
}

}  // namespace

void set_free(Plan& plan, Wide free_bytes) {
    const Wide wanted = std::max(Wide{0}, free_bytes);
    if (plan.expandable && plan.fills_card) {
        plan.card_bytes = static_cast<uint64_t>(Wide{plan.card_bytes} +
                                                std::max(Wide{0}, wanted - Wide{plan.failure.free_bytes}));
    } else {
        make_room(plan, wanted - Wide{plan.failure.free_bytes});
    }
    plan.failure.free_bytes = static_cast<uint64_t>(wanted);
}

void set_margin(Plan& plan, const Seen& seen, Wide margin_bytes) {
    const Wide wanted_free = Wide{plan.failure.free_bytes} + margin_bytes - seen.numbers.margin;
    constexpr Wide kUnit = kGranule_bytes;
    const Wide more = wanted_free < 0 ? (kUnit - 1 - wanted_free) / kUnit * kUnit : Wide{0};
    move(plan.failure.request_bytes, more);
    set_free(plan, wanted_free + more);
}

// The least card with it.
void set_threshold(Plan& plan, Wide threshold_bytes) {
    const Wide card = (std::max(Wide{0}, threshold_bytes) * 1000 + 14) / 15;
    make_room(plan, Wide{plan.card_bytes} - card);
    plan.card_bytes = static_cast<uint64_t>(card);
}

void varied(Plan& plan, Random& random) {
    plan.seed = random.below(UINT64_MAX);
    plan.card_bytes = random.between(2048, 6000) * kMiB + random.below(4096);
    plan.expandable = random.one_in(4);
    plan.tap = random.one_in(4);
    plan.device = random.one_in(4) ? 1 : 0;
    plan.second_device = random.one_in(5);
    plan.noise_events = static_cast<unsigned>(random.below(9));
    plan.kept_bytes = random.between(1, 5) * 20 * kMiB;
    plan.fills_card = true;
    plan.outside.context_bytes = random.between(100, 700) * kMiB;
    plan.outside.baseline = !random.one_in(4);
    plan.failure.request_bytes = random.between(60, 300) * kMiB + random.below(8) * kGranule_bytes;
    plan.failure.free_bytes = random.below(40 * kMiB);
    plan.failure.tells_stream = plan.tap && !random.one_in(3);
    if (random.one_in(2)) plan.end.exit_status = static_cast<int>(random.below(3));
    const uint64_t holes = random.below(4);
    for (uint64_t i = 0; i < holes; ++i)
        plan.holes.push_back({random.between(2, 50) * kMiB, 0, 0, !random.one_in(3)});
}

void others_known(Plan& plan, Random& random) {
    plan.outside.others_bytes = random.below(20 * kMiB);
    if (random.one_in(2)) plan.outside.first_others_bytes = random.below(20 * kMiB);
}

void leaking_steps(Plan& plan, Random& random, unsigned count, uint64_t leak_bytes) {
    constexpr Marking kMarkings[] = {Marking::step, Marking::optimizer, Marking::range, Marking::module};
    plan.marking = random.one_of(kMarkings);
    plan.steps.assign(count, StepPlan{leak_bytes, 0});
    plan.noise_events = static_cast<unsigned>(random.below(4));
}

}  // namespace memsnap::differential
