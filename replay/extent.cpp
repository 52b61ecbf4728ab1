// SPDX-License-Identifier: Apache-2.0
//
// The extent table and what of it a request could use.
#include "extent.h"

#include <algorithm>

namespace memsnap {

namespace {

// Native: small segments are 2 MiB and nothing else is. Expandable: the pages tell, unless pages of large
// ones were configured as small; then only a block too large for the small pool does.
SizeClass size_class(const Segment& segment) {
    if (segment.largest_block_bytes > kSmallRequestLimit_bytes) return SizeClass::large;
    switch (segment.kind) {
        case SegmentKind::native:
            return segment.size_bytes == kSmallSegment_bytes ? SizeClass::small : SizeClass::large;
        case SegmentKind::expandable:
            if (segment.granule_bytes == kSmallSegment_bytes) return SizeClass::small;
            return segment.granule_bytes == kLargeSegment_bytes ? SizeClass::large : SizeClass::unknown;
    }
    return SizeClass::unknown;
}

struct Piece {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t birth_ticket;  // kNoTicket: deferred
};

}  // namespace

std::vector<Extent> extent_table(const Ledger& ledger, int device) {
    std::vector<Piece> pieces;
    ledger.for_each_block(device, [&](const Block& block) {
        pieces.push_back({block.address, block.size_bytes, block.birth_ticket});
    });
    for (const DeferredBlock& block : ledger.deferred()) {
        if (block.device == device) pieces.push_back({block.address, block.size_bytes, kNoTicket});
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.address < b.address; });

    std::vector<Extent> table;
    uint64_t ordinal = 0;
    auto piece = pieces.begin();
    ledger.for_each_segment(device, [&](const Segment& segment) {
        if (segment.state != SegmentState::segment) return;
        Extent row;
        row.segment_ordinal = ordinal++;
        row.segment_bytes = segment.size_bytes;
        row.segment_kind = segment.kind;
        row.size_class = size_class(segment);
        if (segment.tap_known) {
            row.stream = segment.stream;
            if (segment.pool != kPoolUnknown) row.pool = segment.pool;
        }
        while (piece != pieces.end() && piece->address < segment.address)
            ++piece;
        row.segment_free = piece == pieces.end() || piece->address >= segment.end();
        const auto add = [&](uint64_t from, uint64_t to, bool live, bool deferred, uint64_t birth_ticket) {
            if (from >= to) return;
            row.offset_bytes = from - segment.address;
            row.size_bytes = to - from;
            row.live = live;
            row.deferred = deferred;
            row.birth_ticket = birth_ticket;
            table.push_back(row);
        };
        uint64_t at = segment.address;
        for (; piece != pieces.end() && piece->address < segment.end(); ++piece) {
            add(at, piece->address, false, false, kNoTicket);
            const uint64_t end = std::min(piece->address + piece->size_bytes, segment.end());
            const bool live = piece->birth_ticket != kNoTicket;
            add(std::max(at, piece->address), end, live, !live, piece->birth_ticket);
            at = std::max(at, end);
        }
        add(at, segment.end(), false, false, kNoTicket);
    });
    return table;
}

Compatibility compatibility(const Extent& extent, const ExtentRequest& request) {
    const SizeClass wanted =
        request.size_bytes <= kSmallRequestLimit_bytes ? SizeClass::small : SizeClass::large;
    const bool other_class = extent.size_class != SizeClass::unknown && extent.size_class != wanted;
    const bool other_stream = extent.stream && request.stream && *extent.stream != *request.stream;
    const bool other_pool = extent.pool && request.pool && *extent.pool != *request.pool;
    if (other_class || other_stream || other_pool) return Compatibility::incompatible;
    const bool all_known = extent.size_class != SizeClass::unknown && extent.stream && request.stream &&
                           extent.pool && request.pool;
    return all_known ? Compatibility::compatible : Compatibility::unknown;
}

uint64_t allocation_size_bytes(uint64_t rounded_request_bytes) {
    if (rounded_request_bytes <= kSmallRequestLimit_bytes) return kSmallSegment_bytes;
    if (rounded_request_bytes < kLargeRequest_bytes) return kLargeSegment_bytes;
    const uint64_t rest = rounded_request_bytes % kSmallSegment_bytes;
    if (rest == 0) return rounded_request_bytes;
    return rounded_request_bytes + std::min(kSmallSegment_bytes - rest, ~rounded_request_bytes);
}

}  // namespace memsnap
