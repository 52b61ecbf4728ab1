// SPDX-License-Identifier: Apache-2.0
//
// Interpolates. Rule: with one anchor only clock source 1 can be converted, since there a counter is a
// nanosecond.
#include "clock.h"

namespace oracle {
namespace {

// Nothing where it is no time that 64 bits hold.
std::optional<Int> as_time(Int value) {
    constexpr Int kGreatest = ~u64{0};
    return value < 0 || value > kGreatest ? std::nullopt : std::optional(value);
}

std::optional<Int> converted(const File& file, u64 counter, u64 Anchor::*clock) {
    const auto& anchors = file.anchors;
    if (anchors.empty()) return std::nullopt;
    if (anchors.size() == 1) {
        if (file.header.clock_source != 1) return std::nullopt;
        return as_time(Int{anchors[0].*clock} + (Int{counter} - anchors[0].counter));
    }
    auto after = std::upper_bound(anchors.begin(), anchors.end(), counter,
                                  [](u64 wanted, const Anchor& anchor) { return wanted < anchor.counter; });
    auto q = static_cast<std::size_t>(after - anchors.begin());
    q = std::clamp<std::size_t>(q, 1, anchors.size() - 1);
    const auto& first = anchors[q - 1];
    const auto& second = anchors[q];
    if (second.counter <= first.counter) return std::nullopt;
    Int product = 0;
    if (__builtin_mul_overflow(Int{counter} - first.counter, Int{second.*clock} - first.*clock, &product))
        return std::nullopt;
    return as_time(Int{first.*clock} +
                   product / (Int{second.counter} - first.counter));  // C++ division rounds towards 0
}

}  // namespace

std::optional<Int> monotonic_ns(const File& file, u64 counter) {
    if (file.header.clock_source == 1) return Int{counter};
    return converted(file, counter, &Anchor::monotonic_ns);
}

std::optional<Int> realtime_ns(const File& file, u64 counter) {
    return converted(file, counter, &Anchor::realtime_ns);
}

}  // namespace oracle
