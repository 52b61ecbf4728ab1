// SPDX-License-Identifier: Apache-2.0
//
// The free extents of a device at an instant: maximal ranges inside settled segments that no live block
// covers. The rule: an extent is incompatible with a request only when something recorded says so; what is
// not known is `unknown`, never either.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ledger.h"

namespace memsnap {

// The caching allocator's two pools: requests up to 1 MiB live in small segments.
enum class SizeClass : uint8_t {
    small,
    large,
    unknown
};
enum class Compatibility : uint8_t {
    compatible,
    incompatible,
    unknown
};

inline constexpr uint64_t kSmallRequestLimit_bytes = uint64_t{1} << 20;
inline constexpr uint64_t kSmallSegment_bytes = uint64_t{2} << 20;
inline constexpr uint64_t kLargeSegment_bytes = uint64_t{20} << 20;
inline constexpr uint64_t kLargeRequest_bytes = uint64_t{10} << 20;  // from here on a segment of its own

// A range of a segment, live or free: the row of the extent table.
struct Extent {
    uint64_t segment_ordinal = 0;  // of the device's settled segments, in address order, from 0
    uint64_t segment_bytes = 0;
    uint64_t offset_bytes = 0;  // in the segment
    uint64_t size_bytes = 0;
    SegmentKind segment_kind = SegmentKind::native;
    SizeClass size_class = SizeClass::unknown;
    bool live = false;
    bool deferred = false;              // freed, but the allocator still waits for it: not free, not usable
    bool segment_free = false;          // nothing in the segment is live or deferred
    uint64_t birth_ticket = kNoTicket;  // live: of the block
    std::optional<uint64_t> stream;     // of the segment, when the torch tap told
    std::optional<uint16_t> pool;
};

struct ExtentRequest {
    uint64_t size_bytes = kGranule_bytes;  // rounded
    std::optional<uint64_t> stream;
    std::optional<uint16_t> pool;
};

// All ranges, live and free, of the settled segments of a device: ordered by segment, then offset.
std::vector<Extent> extent_table(const Ledger& ledger, int device);

// By size class, pool and stream; the size itself is not looked at.
Compatibility compatibility(const Extent& extent, const ExtentRequest& request);

// What torch asks the driver for: 2 MiB, 20 MiB, or the request rounded up to 2 MiB.
uint64_t allocation_size_bytes(uint64_t rounded_request_bytes);

}  // namespace memsnap
