// SPDX-License-Identifier: Apache-2.0
//
// Ranges that join and are cut, and the holes between blocks.
#include "snapshot_export_memory.h"

#include <algorithm>
#include <iterator>

namespace memsnap {
namespace {

constexpr uint64_t kSmall_bytes = uint64_t{2} << 20;  // a small segment, and a page of a small one

template <class Map>
auto first_behind(Map& map, uint64_t address) {
    auto at = map.upper_bound(address);
    if (at == map.begin()) return at;
    const auto before = std::prev(at);
    return before->second.end() > address ? before : at;
}

}  // namespace

ExportedSegment exported_segment(uint64_t address, uint64_t size_bytes, uint64_t site, uint64_t birth_ticket,
                                 bool expandable) {
    ExportedSegment segment;
    segment.address = address;
    segment.size_bytes = size_bytes;
    segment.site = site;
    segment.birth_ticket = birth_ticket;
    segment.expandable = expandable;
    segment.small = expandable ? size_bytes == kSmall_bytes : size_bytes <= kSmall_bytes;
    return segment;
}

const ExportedSegment* ExportedMemory::segment_of(uint64_t address) const {
    const auto at = first_behind(segments_, address);
    return at != segments_.end() && at->first <= address ? &at->second : nullptr;
}

std::vector<ExportedSegment> ExportedMemory::segments_in(uint64_t from, uint64_t to) const {
    std::vector<ExportedSegment> list;
    for (auto at = first_behind(segments_, from); at != segments_.end() && at->first < to; ++at)
        list.push_back(at->second);
    return list;
}

std::vector<ExportedBlock> ExportedMemory::blocks_in(uint64_t from, uint64_t to) const {
    std::vector<ExportedBlock> list;
    const ExportedBlock* const before = blocks_.at_or_before(from);
    if (before != nullptr && before->address < from && before->end() > from) list.push_back(*before);
    blocks_.for_range(from, to, [&](const ExportedBlock& block) { list.push_back(block); });
    return list;
}

void ExportedMemory::add(const ExportedSegment& added) {
    ExportedSegment segment = added;
    if (segment.expandable) {
        pages_[segment.address] = {segment.size_bytes, segment.site, segment.birth_ticket};
        const auto joins = [&](const ExportedSegment& other) {
            return other.expandable && other.small == segment.small;
        };
        const auto behind = segments_.lower_bound(segment.address);
        if (behind != segments_.end() && behind->first == segment.end() && joins(behind->second)) {
            segment.size_bytes += behind->second.size_bytes;
            segments_.erase(behind);
        }
        const auto next = segments_.lower_bound(segment.address);
        if (next != segments_.begin()) {
            ExportedSegment& before = std::prev(next)->second;
            if (before.end() == segment.address && joins(before)) {
                before.size_bytes += segment.size_bytes;
                return;
            }
        }
    }
    segments_[segment.address] = segment;
}

void ExportedMemory::take_first_page(ExportedSegment& segment) const {
    const auto page = pages_.lower_bound(segment.address);
    if (page == pages_.end() || page->first >= segment.end()) return;
    segment.site = page->second.site;
    segment.birth_ticket = page->second.birth_ticket;
}

void ExportedMemory::remove_segments(uint64_t from, uint64_t to) {
    for (auto at = first_behind(segments_, from); at != segments_.end() && at->first < to;) {
        const ExportedSegment whole = at->second;
        at = segments_.erase(at);
        if (!whole.expandable) continue;
        pages_.erase(pages_.lower_bound(std::max(from, whole.address)),
                     pages_.lower_bound(std::min(to, whole.end())));
        const auto keep = [&](uint64_t begin, uint64_t end) {
            if (begin >= end) return;
            ExportedSegment rest = whole;
            rest.address = begin;
            rest.size_bytes = end - begin;
            take_first_page(rest);
            segments_[begin] = rest;
        };
        keep(whole.address, from);
        keep(to, whole.end());
    }
}

void ExportedMemory::tell(uint64_t address, uint64_t stream, uint16_t pool) {
    const auto at = first_behind(segments_, address);
    if (at == segments_.end() || at->first > address) return;
    at->second.stream = stream;
    at->second.pool = pool;
}

bool ExportedMemory::add(const ExportedBlock& block) {
    const ExportedSegment* const segment = segment_of(block.address);
    if (segment == nullptr || block.end() > segment->end()) return false;
    blocks_.insert(block.address, block);
    return true;
}

snapshot::WrittenSegment ExportedMemory::written(int device, const ExportedSegment& segment) const {
    snapshot::WrittenSegment out;
    out.device = device;
    out.address = segment.address;
    out.size_bytes = segment.size_bytes;
    out.stream = segment.stream;
    out.pool = segment.pool;
    out.stack = segment.site;
    out.small = segment.small;
    out.expandable = segment.expandable;
    uint64_t at = segment.address;
    const auto hole_until = [&](uint64_t end) {
        if (at < end) out.blocks.push_back({.address = at, .size_bytes = end - at});
    };
    for (const ExportedBlock& block : blocks_in(segment.address, segment.end())) {
        hole_until(block.address);
        out.blocks.push_back({.address = block.address,
                              .size_bytes = block.size_bytes,
                              .requested_bytes = block.requested_bytes,
                              .stack = block.site,
                              .state = block.pending ? snapshot::BlockState::active_pending_free
                                                     : snapshot::BlockState::active_allocated});
        at = block.end();
    }
    hole_until(segment.end());
    return out;
}

}  // namespace memsnap
