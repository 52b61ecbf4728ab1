// SPDX-License-Identifier: Apache-2.0
//
// Intervals, values and peaks, compared with the rule spelt out over small random histories.
#include <map>
#include <random>

#include "catch.h"
#include "dimension_effects.h"

using namespace memsnap;

namespace {

struct Step {
    std::optional<uint64_t> peak_bytes;
    std::map<uint64_t, int64_t> values;  // of all dimensions noted so far
};

// VERDICT.md, word for word: every dimension looks at every interval.
std::vector<DimensionEffect> spelt_out(const std::vector<Step>& steps, const std::vector<uint64_t>& order) {
    std::vector<DimensionEffect> effects;
    for (const uint64_t dimension : order) {
        DimensionEffect effect;
        effect.dimension = dimension;
        const Step* before = nullptr;
        for (const Step& step : steps) {
            if (!step.peak_bytes || !step.values.contains(dimension)) continue;
            const int64_t value = step.values.at(dimension);
            if (before == nullptr) effect.least_value = effect.greatest_value = value;
            effect.least_value = std::min(effect.least_value, value);
            effect.greatest_value = std::max(effect.greatest_value, value);
            if (before == nullptr || *step.peak_bytes > effect.peak_bytes) {
                effect.peak_bytes = *step.peak_bytes;
                effect.value_at_peak = value;
            }
            if (before != nullptr && before->values.at(dimension) != value) {
                ++effect.changed_count;
                const bool more = value > before->values.at(dimension);
                const bool together =
                    more ? *step.peak_bytes > *before->peak_bytes : *step.peak_bytes < *before->peak_bytes;
                effect.together_count += together ? 1 : 0;
            }
            ++effect.interval_count;
            before = &step;
        }
        if (effect.interval_count >= 2) effects.push_back(effect);
    }
    return effects;
}

Event note_of(uint64_t dimension, int64_t value) {
    Event event;
    event.kind = Kind::note;
    event.link = dimension;
    event.size_bytes = static_cast<uint64_t>(value);
    return event;
}

}  // namespace

TEST_CASE("effects of dimensions are those of the rule spelt out, for many small histories") {
    std::mt19937_64 random(5);
    const auto below = [&](uint64_t limit) { return random() % limit; };
    for (unsigned round = 0; round < 2000; ++round) {
        const uint64_t step_count = below(8), dimension_count = 1 + below(3);
        std::vector<uint64_t> points, order;
        for (uint64_t i = 0; i <= step_count; ++i)
            points.push_back(100 * i + 50);
        DimensionWatch watch(points);
        std::vector<Step> steps;
        std::map<uint64_t, int64_t> values;
        for (uint64_t i = 0; i <= step_count + 1; ++i) {
            std::optional<uint64_t> peak;
            for (uint64_t act = below(5); act > 0; --act) {
                watch.advance(100 * i + 40 - act);
                if (below(2) == 0) {
                    const uint64_t bytes = below(4);
                    watch.take_report(bytes);
                    peak = std::max(peak.value_or(0), bytes);
                } else {
                    const uint64_t dimension = below(dimension_count);
                    const auto value = static_cast<int64_t>(below(3)) - 1;
                    watch.take_note(note_of(dimension, value));
                    if (values.insert_or_assign(dimension, value).second) order.push_back(dimension);
                }
            }
            if (i >= 1 && i <= step_count) steps.push_back({peak, values});
        }
        const auto found = watch.effects();
        const auto expected = spelt_out(steps, order);
        REQUIRE(found.size() == expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
            CHECK(found[i].dimension == expected[i].dimension);
            CHECK(found[i].interval_count == expected[i].interval_count);
            CHECK(found[i].changed_count == expected[i].changed_count);
            CHECK(found[i].together_count == expected[i].together_count);
            CHECK(found[i].least_value == expected[i].least_value);
            CHECK(found[i].greatest_value == expected[i].greatest_value);
            CHECK(found[i].peak_bytes == expected[i].peak_bytes);
            CHECK(found[i].value_at_peak == expected[i].value_at_peak);
        }
    }
}

TEST_CASE("as many dimensions as notes and as many steps as records cost no product of the two") {
    constexpr uint64_t kCount = 300'000;
    std::vector<uint64_t> points;
    for (uint64_t i = 0; i < kCount; ++i)
        points.push_back(10 * i);
    DimensionWatch watch(points);
    for (uint64_t i = 0; i < kCount; ++i) {
        watch.advance(10 * i + 1);
        watch.take_report(i);
        watch.take_note(note_of(i, 1));
    }
    const auto effects = watch.effects();
    CHECK(effects.size() == kCount - 2);
    CHECK(effects.front().interval_count == kCount - 1);
}
