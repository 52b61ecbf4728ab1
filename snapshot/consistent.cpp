// SPDX-License-Identifier: Apache-2.0
//
// Segments against each other, and blocks against their segment.
#include "consistent.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator_rule.h"

namespace memsnap::snapshot {

namespace {

constexpr int kDevices = 32;  // as many as a ring has room for

std::unexpected<Error> refused(std::string detail) {
    Error error;
    error.code = ErrorCode::corrupt;
    error.rule = "snapshot";
    error.detail = std::move(detail);
    error.way_out = "the file is damaged or was made by hand: use another copy of it";
    return failure(std::move(error));
}

std::string place(const Segment& segment) {
    return fmt::format("the segment of device {} at {:#x}", segment.device, segment.address);
}

Result<void> check_blocks(const Segment& segment, const Block* blocks) {
    uint64_t end = segment.address, allocated_bytes = 0, active_bytes = 0;
    for (const Block* block = blocks; block != blocks + segment.block_count; ++block) {
        const auto bad = [&](std::string_view what) {
            return refused(fmt::format("{} has a block at {:#x} {}", place(segment), block->address, what));
        };
        if (block->size_bytes == 0 || block->size_bytes % kGranule_bytes != 0)
            return bad(
                fmt::format("of {} bytes: sizes are multiples of {}", block->size_bytes, kGranule_bytes));
        if (block->address < end) return bad("that begins before the one before it ends");
        if (block->size_bytes > segment.total_bytes ||
            block->address - segment.address > segment.total_bytes - block->size_bytes)
            return bad("that ends beyond it");
        end = block->address + block->size_bytes;
        if (block->state != BlockState::inactive) active_bytes += block->size_bytes;
        if (block->state == BlockState::active_allocated) allocated_bytes += block->size_bytes;
    }
    const auto sums = [&](std::string_view what, uint64_t stated, uint64_t sum) {
        return refused(
            fmt::format("{} states {} bytes {}, its blocks sum up to {}", place(segment), stated, what, sum));
    };
    if (allocated_bytes != segment.allocated_bytes)
        return sums("allocated", segment.allocated_bytes, allocated_bytes);
    if (active_bytes != segment.active_bytes) return sums("active", segment.active_bytes, active_bytes);
    return {};
}

Result<void> check_devices(const Snapshot& snapshot) {
    uint64_t reserved_bytes[kDevices] = {};
    for (const Segment& segment : snapshot.segments) {
        if (segment.device < 0 || segment.device >= kDevices)
            return refused(fmt::format("a segment is of device {}: a recording has room for 0 to {}",
                                       segment.device, kDevices - 1));
        uint64_t& sum = reserved_bytes[segment.device];
        if (segment.total_bytes > kReserved_bytes_most - sum)
            return refused(fmt::format("the segments of device {} are larger than any card", segment.device));
        sum += segment.total_bytes;
    }
    for (size_t device = kDevices; device < snapshot.traces.size(); ++device) {
        if (!snapshot.traces[device].empty())
            return refused(fmt::format("there is a trace of device {}: a recording has room for 0 to {}",
                                       device, kDevices - 1));
    }
    return {};
}

Result<void> check_overlap(std::vector<const Segment*> segments) {
    std::ranges::sort(segments, {}, &Segment::address);
    for (size_t at = 1; at < segments.size(); ++at) {
        const Segment& before = *segments[at - 1];
        if (segments[at]->address - before.address < before.total_bytes)
            return refused(fmt::format("{} and {} overlap", place(before), place(*segments[at])));
    }
    return {};
}

}  // namespace

Result<void> check_consistent(const Snapshot& snapshot) {
    if (auto devices = check_devices(snapshot); !devices) return devices;
    std::vector<const Segment*> all;
    for (const auto* segments : {&snapshot.segments, &snapshot.host_segments}) {
        for (const Segment& segment : *segments)
            all.push_back(&segment);
    }
    if (auto overlap = check_overlap(std::move(all)); !overlap) return overlap;
    for (const Segment& segment : snapshot.segments) {
        if (auto blocks = check_blocks(segment, snapshot.blocks.data() + segment.first_block); !blocks)
            return blocks;
    }
    return {};
}

}  // namespace memsnap::snapshot
