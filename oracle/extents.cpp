// SPDX-License-Identifier: Apache-2.0
//
// Makes the state at an instant. Rule: a segment's extents are what is left and what is covered when its
// blocks are walked by address; a live block goes before a deferred one.
#include "extents.h"

#include <unordered_map>

#include "thresholds.h"

namespace oracle {
namespace {

bool shows_tap(const Event& event) {
    return event.kind == kTapAlloc || event.kind == kTapFreeRequested || event.kind == kTapFreeCompleted ||
           (event.kind >= kTapSegmentAlloc && event.kind <= kTapSegmentUnmap);
}

SizeClass class_of(const Segment& segment, bool large) {
    if (large) return SizeClass::kLarge;
    Int size = segment.end - segment.begin;
    if (!segment.expandable)
        return size == thresholds::kSmallSegmentBytes ? SizeClass::kSmall : SizeClass::kLarge;
    if (Int{segment.granule} == thresholds::kSmallSegmentBytes) return SizeClass::kSmall;
    return Int{segment.granule} == thresholds::kLargeSegmentBytes ? SizeClass::kLarge : SizeClass::kUnknown;
}

std::vector<Segment> segments_at(const Regions& regions, int device, u64 ticket) {
    std::vector<const Region*> found;
    for (const auto& region : regions.all) {
        if (region.is_on(device, ticket) && region.alive_at(ticket) &&
            region.status_at(ticket) == Status::kSegment)
            found.push_back(&region);
    }
    std::sort(found.begin(), found.end(),
              [](const Region* a, const Region* b) { return a->begin < b->begin; });
    std::vector<Segment> segments;
    bool large = false;
    u64 last_told = 0;
    for (const auto* region : found) {
        bool expandable = region->mapping && !region->foreign;
        bool joins = expandable && !segments.empty() && segments.back().expandable &&
                     segments.back().end == region->begin;
        if (joins) {
            segments.back().end = region->end;
        } else {
            segments.push_back({region->begin, region->end, expandable, region->size(), {}, {}, true});
            large = false;
            last_told = 0;
        }
        auto& segment = segments.back();
        large = large || region->large_since <= ticket;
        for (const auto& told : region->told) {
            if (told.ticket > ticket || told.ticket < last_told) continue;
            last_told = told.ticket;
            segment.place = Place{told.stream, told.pool};
        }
        segment.size_class = class_of(segment, large);
    }
    return segments;
}

// What the tap tells of frees at one address, each list by ticket.
struct TapFrees {
    std::vector<const Event*> all;
    std::vector<u64> completed;
};

// A block is deferred from its free on when its free was requested and not completed before.
std::vector<const Life*> deferred_at(const Recording& recording, const std::vector<Life>& lives, int device,
                                     u64 ticket) {
    std::unordered_map<u64, TapFrees> by_address;
    for (const auto& event : recording.events) {
        if (event.ticket > ticket) break;
        if (event.kind != kTapFreeRequested && event.kind != kTapFreeCompleted) continue;
        auto& frees = by_address[event.address];
        frees.all.push_back(&event);
        if (event.kind == kTapFreeCompleted) frees.completed.push_back(event.ticket);
    }
    std::vector<const Life*> deferred;
    if (by_address.empty()) return deferred;
    for (const auto& life : lives) {
        if (life.object != kBlock || life.device != device || life.death > ticket) continue;
        auto found = by_address.find(life.address);
        if (found == by_address.end()) continue;
        const auto& frees = found->second;
        auto after = std::lower_bound(frees.all.begin(), frees.all.end(), life.death,
                                      [](const Event* event, u64 wanted) { return event->ticket < wanted; });
        bool requested = after != frees.all.begin() && (*std::prev(after))->ticket >= life.from &&
                         (*std::prev(after))->kind == kTapFreeRequested;
        bool completed = !frees.completed.empty() && frees.completed.back() >= life.death;
        if (requested && !completed) deferred.push_back(&life);
    }
    return deferred;
}

Compatibility compatibility_of(const Segment& segment, const Wanted& wanted) {
    auto wanted_class =
        wanted.request_bytes <= thresholds::kSmallRequestBytes ? SizeClass::kSmall : SizeClass::kLarge;
    bool class_known = segment.size_class != SizeClass::kUnknown;
    if (class_known && segment.size_class != wanted_class) return Compatibility::kIncompatible;
    const auto &here = segment.place, &there = wanted.place;
    bool streams_known = here && there;
    bool pools_known = streams_known && here->pool_is_known() && there->pool_is_known();
    if ((streams_known && here->stream != there->stream) || (pools_known && here->pool != there->pool))
        return Compatibility::kIncompatible;
    bool pool_is_told = here && here->pool_is_known();
    if (wanted.private_pool_rule && !segment.expandable && segment.wholly_free && !pool_is_told)
        return Compatibility::kIncompatible;
    return class_known && pools_known ? Compatibility::kCompatible : Compatibility::kUnknown;
}

struct Covered {
    u64 begin;
    u64 end;
    ExtentState state;
    const Life* block;
};

void lay_out(std::size_t index, DeviceState& state, const std::vector<Covered>& inside) {
    auto& segment = state.segments[index];
    u64 cursor = segment.begin;
    for (const auto& covered : inside) {
        u64 begin = std::max(covered.begin, cursor);
        u64 end = std::min(covered.end, segment.end);
        if (begin >= end) continue;
        segment.wholly_free = false;
        if (begin > cursor)
            state.extents.push_back(
                {index, cursor, begin, ExtentState::kFree, Compatibility::kUnknown, nullptr});
        state.extents.push_back({index, begin, end, covered.state, Compatibility::kInUse, covered.block});
        cursor = end;
    }
    if (cursor < segment.end)
        state.extents.push_back(
            {index, cursor, segment.end, ExtentState::kFree, Compatibility::kUnknown, nullptr});
}

}  // namespace

DeviceState state_at(const Recording& recording, const std::vector<Life>& lives, const Regions& regions,
                     int device, u64 ticket, const Wanted& wanted) {
    DeviceState state;
    state.segments = segments_at(regions, device, ticket);
    state.tap_seen = tap_seen_by(recording, ticket);
    if (state.tap_seen) state.deferred = deferred_at(recording, lives, device, ticket);
    state.blocks = blocks_at(lives, device, ticket);

    std::vector<std::vector<Covered>> inside(state.segments.size());
    auto place = [&](const Life* block, ExtentState what) {
        auto after =
            std::upper_bound(state.segments.begin(), state.segments.end(), block->address,
                             [](u64 address, const Segment& segment) { return address < segment.begin; });
        if (after == state.segments.begin() || std::prev(after)->end <= block->address) return false;
        inside[static_cast<std::size_t>(std::prev(after) - state.segments.begin())].push_back(
            {block->address, block->end(), what, block});
        return true;
    };
    for (const auto* block : state.blocks) {
        if (!place(block, ExtentState::kLive)) state.blocks_outside.push_back(block);
    }
    for (const auto* block : state.deferred)
        place(block, ExtentState::kDeferred);
    for (std::size_t i = 0; i < state.segments.size(); ++i) {
        std::stable_sort(inside[i].begin(), inside[i].end(), [](const Covered& a, const Covered& b) {
            return std::tuple(a.begin, a.state) < std::tuple(b.begin, b.state);
        });
        lay_out(i, state, inside[i]);
    }
    for (auto& extent : state.extents) {
        if (extent.state == ExtentState::kFree)
            extent.compatibility = compatibility_of(state.segments[extent.segment], wanted);
    }
    return state;
}

bool tap_seen_by(const Recording& recording, u64 ticket) {
    return std::any_of(recording.events.begin(), recording.events.end(),
                       [&](const Event& event) { return event.ticket <= ticket && shows_tap(event); });
}

Int whole_granules(const Segment& segment, const Extent& extent) {
    u64 first = (extent.begin - segment.begin + segment.granule - 1) / segment.granule;
    u64 last = (extent.end - segment.begin) / segment.granule;
    return last > first ? Int{last - first} * segment.granule : 0;
}

FreeSums free_sums(const DeviceState& state, Int request_bytes) {
    FreeSums sums;
    for (const auto& extent : state.extents) {
        if (extent.state != ExtentState::kFree) continue;
        bool fits = Int{extent.size()} >= request_bytes;
        auto& sum = extent.compatibility == Compatibility::kIncompatible ? sums.incompatible
                    : fits                                               ? sums.reusable
                                                                         : sums.fragmented;
        sum += extent.size();
    }
    return sums;
}

Int releasable_bytes(const DeviceState& state) {
    Int bytes = 0;
    for (const auto& extent : state.extents) {
        const auto& segment = state.segments[extent.segment];
        if (extent.state != ExtentState::kFree) continue;
        if (!segment.expandable) {
            if (segment.wholly_free) bytes += extent.size();
            continue;
        }
        bytes += whole_granules(segment, extent);
    }
    return bytes;
}

}  // namespace oracle
