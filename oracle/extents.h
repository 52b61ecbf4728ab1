// SPDX-License-Identifier: Apache-2.0
//
// Segments, deferred blocks and extents of one device at one instant (VERDICT.md §3). Rule: everything is
// made anew by sorting what is there at the instant by address.
#pragma once

#include "regions.h"

namespace oracle {

enum class SizeClass : u8 {
    kUnknown,
    kSmall,
    kLarge
};
enum class ExtentState : u8 {
    kLive,
    kDeferred,
    kFree
};
enum class Compatibility : u8 {
    kInUse,
    kCompatible,
    kIncompatible,
    kUnknown
};

/// Which of the allocator's caches memory belongs to.
struct Place {
    u64 stream = 0;
    u16 pool = 0;

    bool pool_is_known() const { return pool != kPoolUnknown; }
};

struct Segment {
    u64 begin = 0;
    u64 end = 0;
    bool expandable = false;
    u64 granule = 0;
    SizeClass size_class = SizeClass::kUnknown;
    std::optional<Place> place;
    bool wholly_free = true;
};

struct Extent {
    std::size_t segment = 0;
    u64 begin = 0;
    u64 end = 0;
    ExtentState state = ExtentState::kFree;
    Compatibility compatibility = Compatibility::kInUse;
    const Life* block = nullptr;

    u64 size() const { return end - begin; }
};

/// What an extent is wanted for.
struct Wanted {
    Int request_bytes = 0;
    bool private_pool_rule = false;
    std::optional<Place> place;
};

struct DeviceState {
    std::vector<Segment> segments;
    std::vector<Extent> extents;
    std::vector<const Life*> blocks;          ///< live, by address
    std::vector<const Life*> blocks_outside;  ///< those of them in no segment
    std::vector<const Life*> deferred;
    bool tap_seen = false;
};

DeviceState state_at(const Recording& recording, const std::vector<Life>& lives, const Regions& regions,
                     int device, u64 ticket, const Wanted& wanted);
/// Whether the torch tap told anything by the ticket.
bool tap_seen_by(const Recording& recording, u64 ticket);
/// Whole granules, counted from the segment's begin, inside an extent of an expandable segment.
Int whole_granules(const Segment& segment, const Extent& extent);
/// Sums of free extents.
struct FreeSums {
    Int reusable = 0, fragmented = 0, incompatible = 0;
};
FreeSums free_sums(const DeviceState& state, Int request_bytes);
/// Wholly free native segments, and whole granules inside free extents of expandable ones.
Int releasable_bytes(const DeviceState& state);

}  // namespace oracle
