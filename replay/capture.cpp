// SPDX-License-Identifier: Apache-2.0
//
// What a capture can say about its own tickets, counters and libraries.
#include "capture.h"

#include <algorithm>

#include "reader_names.h"

namespace memsnap {

namespace {

__extension__ typedef unsigned __int128 Product;  // `__extension__`: the type is GCC's

std::optional<uint64_t> moved(uint64_t clock_ns, bool earlier, Product distance_ns) {
    const uint64_t room_ns = earlier ? clock_ns : ~clock_ns;
    if (distance_ns > room_ns) return std::nullopt;
    const auto distance = static_cast<uint64_t>(distance_ns);
    return earlier ? clock_ns - distance : clock_ns + distance;
}

// Linear between the anchors around the counter; beyond the last pair, that pair's slope. Rounded towards the
// earlier anchor. Empty where the result is no time.
std::optional<uint64_t> interpolate(const std::vector<Anchor>& anchors, ClockSource source, uint64_t counter,
                                    uint64_t Anchor::*clock) {
    if (anchors.empty()) return std::nullopt;
    if (anchors.size() == 1) {
        const Anchor& only = anchors[0];
        const bool before = counter < only.counter;
        if (source != ClockSource::monotonic_ns) return std::nullopt;
        return moved(only.*clock, before, before ? only.counter - counter : counter - only.counter);
    }
    const auto behind = std::upper_bound(anchors.begin() + 1, anchors.end() - 1, counter,
                                         [](uint64_t value, const Anchor& a) { return value < a.counter; });
    const Anchor& b = *behind;
    const Anchor& a = *(behind - 1);
    if (b.counter == a.counter) return std::nullopt;
    const bool before = counter < a.counter;
    const bool set_back = b.*clock < a.*clock;
    const uint64_t ticks = before ? a.counter - counter : counter - a.counter;
    const uint64_t span_ns = set_back ? a.*clock - b.*clock : b.*clock - a.*clock;
    const Product offset_ns = Product{ticks} * span_ns / (b.counter - a.counter);
    return moved(a.*clock, before != set_back, offset_ns);
}

}  // namespace

Capture::Capture(RingFile file)
    : path(file.path()), names_path(path + kNamesSuffix), file_(std::move(file)) {}

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
