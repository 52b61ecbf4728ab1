// SPDX-License-Identifier: Apache-2.0
//
// What must not change a verdict, or only in one direction. The rule: each property states its domain, holds
// on at least 300 seeded traces of it, and is seen to fail on traces whose request was changed behind its
// back.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <string>

#include "document.h"
#include "programs.h"
#include "rewriting.h"

namespace {

using namespace memsnap::differential;

constexpr uint64_t kTracesNeeded = 300;
constexpr uint64_t kSeedsTried = 6000;
constexpr uint64_t kSpoilt = 30;

struct Pair {
    Lines before;
    Lines after;
};

struct Property {
    std::string_view name;
    std::string_view domain;
    std::optional<Pair> (*make)(uint64_t seed);
    // Nothing: outside the domain after all. Empty: it holds.
    std::optional<std::string> (*broken)(const Answer& before, const Answer& after);
};

// ---- traces

// A failure of the caching allocator on a whole recording, with or without marked steps.
Plan plan_of(Random& random) {
    Plan plan;
    varied(plan, random);
    if (!random.one_in(3)) others_known(plan, random);
    if (random.one_in(2)) leaking_steps(plan, random, static_cast<unsigned>(random.between(2, 9)), 5 * kMiB);
    if (random.one_in(4)) plan.outside.named_after_bytes = random.between(1, 90) * kMiB;
    plan.card_bytes = random.between(900, 3000) * kMiB;
    plan.failure.request_bytes = random.between(30, 400) * kMiB;
    return plan;
}

size_t failing_line(const Lines& lines) {
    return first_of(lines, {"fail", "oom"});
}

// ---- properties

std::optional<Pair> renamed(uint64_t seed) {
    Random random(seed);
    const Lines lines = build(plan_of(random));
    return Pair{lines, rename_everything(lines, random)};
}

std::optional<Pair> with_pair(uint64_t seed) {
    Random random(seed);
    const Plan plan = plan_of(random);
    const Lines lines = build(plan);
    const size_t begin = first_of(lines, {"alloc"}) + 1;
    // A device's first segments become segments at its first reports; behind the first mark they all are.
    const size_t mark = std::max(begin, std::min(first_of(lines, {"step", "phase"}), failing_line(lines)));
    const size_t at = begin >= mark ? begin : static_cast<size_t>(random.between(begin, mark));
    if (lines[at - 1].starts_with("segment") || lines[at - 1].starts_with("map")) return std::nullopt;
    if (lines[at - 1].starts_with("create")) return std::nullopt;
    return Pair{lines, insert_balanced_pair(lines, at, plan.device, random.between(2, 60) * kMiB, 1)};
}

std::optional<Pair> scaled(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    plan.expandable = plan.small_blocks = plan.second_device = false;
    plan.noise_events = 0;
    // Multiples of 800 bytes have an exact threshold and an exact quarter of it.
    plan.card_bytes = plan.card_bytes / 800 * 800;
    plan.outside.context_bytes = random.between(20, 80) * kMiB;
    plan.outside.others_bytes = random.below(30) * kMiB;
    plan.failure.segment_bytes = plan.failure.request_bytes + 2 * kMiB;
    // What is left of the card is the fixed allowance's business: fill it.
    plan.kept_bytes = (plan.card_bytes / kMiB - 500) / 2 * 2 * kMiB;
    return Pair{build(plan), scale_bytes(build(plan), static_cast<unsigned>(random.between(1, 3)))};
}

std::optional<Pair> interleaved(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    plan.second_device = true;
    const Lines lines = build(plan);
    const int other = plan.device == 0 ? 1 : 0;
    // Device 0 is what a line says by itself: its lines cannot be told by a word.
    if (other == 0) return std::nullopt;
    return Pair{lines, spread_device(lines, other, failing_line(lines), random)};
}

// The holes of two streams, each stream's in their order.
std::optional<Pair> streams(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    plan.tap = plan.failure.tells_stream = true;
    plan.second_device = false;
    std::vector<Hole> one;
    std::vector<Hole> other;
    for (int i = 0; i < 3; ++i) {
        one.push_back({random.between(2, 60) * kMiB, 0});
        other.push_back({random.between(2, 60) * kMiB, 7});
    }
    const auto merged = [&] {
        std::vector<Hole> all;
        for (size_t a = 0, b = 0; a < one.size() || b < other.size();) {
            const bool first = b == other.size() || (a < one.size() && random.one_in(2));
            all.push_back(first ? one[a++] : other[b++]);
        }
        return all;
    };
    plan.holes = merged();
    Plan otherwise = plan;
    otherwise.holes = merged();
    return Pair{build(plan), build(otherwise)};
}

std::optional<Pair> killed(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    const Lines cut = build(plan);
    Lines longer = cut;
    if (plan.end.exit_status) return std::nullopt;
    const Lines live = live_blocks(cut);
    const size_t count = std::min<size_t>(live.size(), random.below(4));
    for (size_t i = 0; i < count; ++i)
        longer.push_back(fmt::format("free {} device={}", live[i], plan.device));
    longer.push_back("exit 1");
    return Pair{longer, cut};
}

std::optional<Pair> roomier(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    plan.marking = Marking::none;
    for (int i = 0; i < 4; ++i)
        plan.holes.push_back({random.between(20, 60) * kMiB});
    plan.failure.request_bytes = random.between(60, 120) * kMiB;
    plan.failure.segment_bytes = 2 * kGiB;
    plan.failure.free_bytes = random.below(60) * kMiB;
    Plan more = plan;
    more.failure.free_bytes += random.between(1, 100) * kMiB;
    return Pair{build(plan), build(more)};
}

std::optional<Pair> older_noise(uint64_t seed) {
    Random random(seed);
    Plan plan = plan_of(random);
    leaking_steps(plan, random, static_cast<unsigned>(random.between(6, 9)), 5 * kMiB);
    plan.ring_records = static_cast<unsigned>(random.between(32, 48));
    plan.second_device = false;
    const Lines lines = build(plan);
    Lines longer = lines;
    const size_t at = first_of(lines, {"alloc"}) + 1;
    const uint64_t count = random.between(1, 6);
    for (unsigned i = 0; i < count; ++i)
        longer = insert_balanced_pair(longer, at, plan.device, 2 * kMiB, i + 1);
    return Pair{lines, longer};
}

// ---- what must hold

bool failed(const Answer& answer) {
    return answer.document.empty();
}

std::optional<std::string> same_member(const Answer& before, const Answer& after, std::string_view member) {
    if (failed(before) || failed(after)) return "an error: " + before.rule + " / " + after.rule;
    const Document left(before.document);
    const Document right(after.document);
    if (left.is_null("verdict.hypotheses")) return std::nullopt;
    return first_difference(left, right, {member});
}

std::optional<std::string> same_evidence(const Answer& before, const Answer& after) {
    const auto difference = same_member(before, after, "evidence");
    if (!difference || !difference->empty()) return difference;
    return same_member(before, after, "digest.evidence");
}

std::optional<std::string> same_verdict(const Answer& before, const Answer& after) {
    return same_member(before, after, "verdict");
}

// The window must have gone round already, or it would begin elsewhere.
std::optional<std::string> same_verdict_when_lapped(const Answer& before, const Answer& after) {
    if (failed(before) || Document(before.document).number("capture.first_ticket") == 0) return std::nullopt;
    return same_verdict(before, after);
}

std::optional<std::string> same_statuses_scaled_margins(const Answer& before, const Answer& after) {
    if (failed(before) || failed(after)) return "an error: " + before.rule + " / " + after.rule;
    const Document left(before.document);
    const Document right(after.document);
    if (left.is_null("verdict.numbers")) return std::nullopt;
    const Integer factor = right.number("evidence.ledgers.total_bytes").value_or(0) /
                           left.number("evidence.ledgers.total_bytes").value_or(1);
    constexpr Integer kAllowance = Integer{1536} * kMiB;
    if (right.number("evidence.ledgers.outside_bytes").value_or(kAllowance) >= kAllowance)
        return std::nullopt;
    for (const std::string_view one : {"live_set", "retention", "fragmentation", "external"}) {
        const std::string base = fmt::format("verdict.hypotheses.{}", one);
        if (left.word(base + ".status") != right.word(base + ".status")) return base + ".status";
        if (left.words(base + ".qualifiers") != right.words(base + ".qualifiers"))
            return base + ".qualifiers";
        const auto margin = left.number(base + ".margin_bytes");
        const auto scaled_margin = right.number(base + ".margin_bytes");
        if (margin.has_value() != scaled_margin.has_value() || (margin && *margin * factor != *scaled_margin))
            return base + ".margin_bytes";
    }
    return first_difference(left, right, {"verdict.qualifiers"});
}

std::optional<std::string> never_to_live_set(const Answer& before, const Answer& after) {
    if (failed(before) || failed(after)) return "an error: " + before.rule + " / " + after.rule;
    const Document left(before.document);
    const Document right(after.document);
    // Out of the domain: more is free than the card has beside what is reserved.
    if (left.is_null("verdict.numbers") || right.is_null("verdict.numbers")) return std::nullopt;
    if (left.word("verdict.primary") != "fragmentation") return std::nullopt;
    return right.word("verdict.primary") == "live_set" ? "fragmentation became live_set" : "";
}

constexpr Property kProperties[] = {
    {"renamed", "whole recordings: addresses, threads and libraries get other numbers in the same order",
     renamed, same_evidence},
    {"balanced pair", "marked or no steps, before the first of them and outside a failing operation",
     with_pair, same_verdict},
    {"scaled", "native segments of large blocks, an exact threshold, outside bytes below the allowance",
     scaled, same_statuses_scaled_margins},
    {"interleaved", "the other device's events, before the failing operation", interleaved, same_verdict},
    {"streams", "the holes of two streams, in any order that is each stream's own", streams, same_verdict},
    {"killed", "frees and an end with status 1 behind the failure: killed right after it instead", killed,
     same_evidence},
    {"roomier", "a call that was refused whatever was free, and fragmentation as its explanation", roomier,
     never_to_live_set},
    {"older noise", "rings that have gone round, and events that are gone again before their window",
     older_noise, same_verdict_when_lapped},
};

// A request changed behind its back must not go unnoticed; where only a direction is asserted, the way back.
Pair spoil(const Property& property, Pair pair) {
    if (property.broken == never_to_live_set) return {pair.before, with_request(pair.after, 3 * kGiB / 4)};
    return {pair.before, with_request(pair.after, 3 * kMiB)};
}

bool run(const Property& property, Programs& programs) {
    uint64_t held = 0;
    uint64_t noticed = 0;
    for (uint64_t seed = 1; seed <= kSeedsTried && held < kTracesNeeded; ++seed) {
        const auto pair = property.make(seed);
        if (!pair) continue;
        const Answer before = programs.replay(pair->before);
        const auto broken = property.broken(before, programs.replay(pair->after));
        if (!broken) continue;
        if (!broken->empty()) {
            fmt::print("{}, seed {}: {}\n-- before\n{}-- after\n{}", property.name, seed, *broken,
                       join(pair->before), join(pair->after));
            return false;
        }
        if (++held > kSpoilt) continue;
        const Pair spoilt = spoil(property, *pair);
        const auto seen = property.broken(before, programs.replay(spoilt.after));
        if (seen && !seen->empty()) ++noticed;
    }
    fmt::print("{:<14} {} traces, {} of {} spoilt ones noticed ({})\n", property.name, held, noticed, kSpoilt,
               property.domain);
    return held >= kTracesNeeded && noticed > 0;
}

}  // namespace

int main() {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    Programs programs;
    bool all = true;
    for (const Property& property : kProperties)
        all &= run(property, programs);
    return all ? 0 : 1;
}
