// SPDX-License-Identifier: Apache-2.0
//
// What a capture can say about its own tickets, counters and libraries.
#include "capture.h"

#include <algorithm>

namespace memsnap {

namespace {

// Linear between the anchors around the counter; beyond the last pair, that pair's slope.
std::optional<uint64_t> interpolate(const std::vector<Anchor>& anchors, ClockSource source, uint64_t counter,
                                    uint64_t Anchor::*clock) {
    if (anchors.empty()) return std::nullopt;
    if (anchors.size() == 1) {
        if (source != ClockSource::monotonic_ns) return std::nullopt;
        return anchors[0].*clock + (counter - anchors[0].counter);
    }
    const auto behind = std::upper_bound(anchors.begin() + 1, anchors.end() - 1, counter,
                                         [](uint64_t value, const Anchor& a) { return value < a.counter; });
    const Anchor& b = *behind;
    const Anchor& a = *(behind - 1);
    const double ticks = static_cast<double>(b.counter - a.counter);
    if (ticks <= 0) return std::nullopt;
    const double share = (static_cast<double>(counter) - static_cast<double>(a.counter)) / ticks;
    const double span_ns = static_cast<double>(b.*clock) - static_cast<double>(a.*clock);
    const double offset_ns = share * span_ns;
    if (!(offset_ns > -9e18 && offset_ns < 9e18)) return std::nullopt;
    return a.*clock + static_cast<uint64_t>(static_cast<int64_t>(offset_ns));
}

}  // namespace

std::optional<uint64_t> Capture::monotonic_ns(uint64_t counter) const {
    if (header.clock_source == ClockSource::monotonic_ns) return counter;
    return interpolate(anchors, header.clock_source, counter, &Anchor::monotonic_ns);
}

std::optional<uint64_t> Capture::realtime_ns(uint64_t counter) const {
    return interpolate(anchors, header.clock_source, counter, &Anchor::realtime_ns);
}

uint64_t Capture::record_offset_bytes(uint64_t ticket) const {
    constexpr uint64_t kRecord_bytes = 64;
    if (header.ring_capacity_records == 0) return 0;
    return header.areas[0].offset_bytes + ticket % header.ring_capacity_records * kRecord_bytes;
}

LibraryRole Capture::library_role(uint16_t library) const {
    return library < libraries.size() ? libraries[library].role : LibraryRole::unknown;
}

}  // namespace memsnap
