// SPDX-License-Identifier: Apache-2.0
//
// Ranges that are joined as they come, so that their number stays that of what lies apart.
#include "page_places.h"

#include <algorithm>

#include "ledger_row.h"
#include "window_builder.h"

namespace memsnap {
namespace {

constexpr Wide kPlaceUnit_bytes = Wide{2} << 20;
constexpr size_t kJoined_least = 65536;

Wide next_unit(Wide place) {
    return (place + kPlaceUnit_bytes - 1) / kPlaceUnit_bytes * kPlaceUnit_bytes;
}

bool has_range(Object object) {
    return object == Object::block || is_region_class(object);
}

// Of a birth beside its free the call tells the class, and a block has none.
Object class_of(const Event& event) {
    if (event.kind != Kind::birth) return object_of(event);
    return event.op == Op::none ? Object::block : object_of(event.op);
}

}  // namespace

PagePlaces::PagePlaces(const Window& window) : join_at_count_(kJoined_least) {
    for (const LiveObject& object : window.objects) {
        if (has_range(object.object)) add(object.address, object.size_bytes);
    }
    window.events.for_each([&](const Event& event) {
        const bool born = is_birth(event) || event.kind == Kind::birth;
        if (born && has_range(class_of(event))) add(event.address, event.size_bytes);
        return true;
    });
    join();
    Wide next = kPlaceUnit_bytes;
    for (Range& range : ranges_) {
        range.place = next;
        next = next_unit(next + range.last - range.begin + 1) + kPlaceUnit_bytes;
    }
}

void PagePlaces::add(uint64_t address, uint64_t size_bytes) {
    if (size_bytes == 0) return;
    const uint64_t last = size_bytes - 1 > ~address ? ~uint64_t{0} : address + (size_bytes - 1);
    if (!ranges_.empty() && ranges_.back().begin <= address && last <= ranges_.back().last) return;
    ranges_.push_back({address, last, 0});
    if (ranges_.size() < join_at_count_) return;
    join();
    join_at_count_ = std::max(kJoined_least, 2 * ranges_.size());
}

void PagePlaces::join() {
    std::ranges::sort(ranges_, {}, &Range::begin);
    size_t kept = 0;
    for (const Range& range : ranges_) {
        Range* const before = kept == 0 ? nullptr : &ranges_[kept - 1];
        const bool touches =
            before != nullptr && (range.begin <= before->last || range.begin - 1 == before->last);
        if (touches) {
            before->last = std::max(before->last, range.last);
        } else {
            ranges_[kept++] = range;
        }
    }
    ranges_.resize(kept);
}

std::optional<Wide> PagePlaces::of(uint64_t address) const {
    const auto behind = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
    if (behind == ranges_.begin()) return std::nullopt;
    const Range& range = *(behind - 1);
    if (address > range.last) return std::nullopt;
    return range.place + (address - range.begin);
}

}  // namespace memsnap
