// SPDX-License-Identifier: Apache-2.0
//
// One entry of a device's trace. The rule: entries that the roll-back kept fit the state; the others leave no
// record.
#include <algorithm>

#include "device_track.h"

namespace memsnap::snapshot {

Moment DeviceTrack::moment(const TraceEntry& entry, bool with_site) {
    return {device_, entry.has_time ? nanoseconds(entry.time_us) : kNoTime,
            with_site ? all_.site(entry.stack) : 0};
}

uint16_t DeviceTrack::pool_of(const TraceEntry& entry) const {
    return entry.pool == kPoolUnknown ? rolled_.facts[static_cast<size_t>(&entry - trace_.data())].pool
                                      : entry.pool;
}

void DeviceTrack::tap(const TraceEntry& entry, wire::Kind kind) {
    if (all_.snapshot.tap)
        all_.image.tap(moment(entry, false), kind, entry.address, entry.size_bytes, entry.stream,
                       pool_of(entry));
}

void DeviceTrack::count_request(const LiveBlock& block, bool live) {
    if (!block.requested_bytes) {
        unknown_request_count_ += live ? 1U : ~uint64_t{0};
    } else {
        requested_bytes_ += live ? *block.requested_bytes : ~*block.requested_bytes + 1;
    }
}

// The block is free for its user; its memory may wait.
void DeviceTrack::release(const Moment& moment, uint64_t address, LiveBlock& block) {
    count_request(block, false);
    block.waiting = true;
    all_.image.block_free(moment, address, block.granted_bytes);
}

void DeviceTrack::apply(size_t at) {
    const TraceEntry& entry = trace_[at];
    if (rolled_.parts[at] == Part::skipped) return;
    switch (entry.action) {
        case Action::alloc:
            label(moment(entry, false), entry.user_metadata);
            return alloc(at);
        case Action::free_requested:
            return free_requested(at);
        case Action::free_completed:
            return free_completed(entry);
        case Action::segment_alloc:
        case Action::segment_free:
        case Action::segment_map:
        case Action::segment_unmap:
            label(moment(entry, false), entry.user_metadata);
            return segment(entry);
        case Action::oom:
            label(moment(entry, false), entry.user_metadata);
            return oom(at);
        case Action::snapshot:
        case Action::annotate:
        case Action::unknown:
            return;
    }
}

void DeviceTrack::alloc(size_t at) {
    const TraceEntry& entry = trace_[at];
    const EntryFacts& facts = rolled_.facts[at];
    uint64_t granted_bytes = facts.bound_bytes;
    if (!facts.exact) {
        bool expandable = false;
        const uint64_t hole = hole_bytes(entry.address, expandable);
        granted_bytes = std::min(granted_bytes, all_.rule.granted_bytes(entry.size_bytes, hole, expandable));
    }
    const LiveBlock block = {granted_bytes, entry.size_bytes, false};
    blocks_[entry.address] = block;
    count_request(block, true);
    tap(entry, wire::Kind::tap_alloc);
    all_.image.block_alloc(moment(entry, true), entry.address, granted_bytes);
}

void DeviceTrack::free_requested(size_t at) {
    const TraceEntry& entry = trace_[at];
    const auto found = blocks_.find(entry.address);
    if (found == blocks_.end()) return;
    tap(entry, wire::Kind::tap_free_requested);
    if (rolled_.parts[at] == Part::ends_at_once) {
        free_completed(entry);
        return;
    }
    const bool at_once = at + 1 < trace_.size() && rolled_.parts[at + 1] != Part::skipped &&
                         trace_[at + 1].action == Action::free_completed &&
                         trace_[at + 1].address == entry.address;
    if (!at_once) release(moment(entry, false), entry.address, found->second);
}

void DeviceTrack::free_completed(const TraceEntry& entry) {
    const auto found = blocks_.find(entry.address);
    if (found == blocks_.end()) return;
    tap(entry, wire::Kind::tap_free_completed);
    if (!found->second.waiting) release(moment(entry, false), entry.address, found->second);
    blocks_.erase(found);
}

void DeviceTrack::segment(const TraceEntry& entry) {
    const Moment when = moment(entry, true);
    const bool of_pages = entry.action == Action::segment_map || entry.action == Action::segment_unmap;
    const bool comes = entry.action == Action::segment_alloc || entry.action == Action::segment_map;
    if (comes) {
        regions_.put(entry.address, {.size_bytes = entry.size_bytes,
                                     .stream = entry.stream,
                                     .pool = pool_of(entry),
                                     .stack = entry.stack,
                                     .expandable = of_pages});
    } else {
        regions_.cut(entry.address, entry.size_bytes);
    }
    if (entry.action == Action::segment_alloc) {
        all_.image.segment_alloc(when, entry.address, entry.size_bytes);
        tap(entry, wire::Kind::tap_segment_alloc);
    } else if (entry.action == Action::segment_free) {
        all_.image.segment_free(when, entry.address);
        tap(entry, wire::Kind::tap_segment_free);
    } else if (comes) {
        all_.image.map_pages(when, entry.address, entry.size_bytes, pages_.at(entry.address));
        tap(entry, wire::Kind::tap_segment_map);
    } else {
        all_.image.unmap_pages(when, entry.address, entry.size_bytes);
        tap(entry, wire::Kind::tap_segment_unmap);
    }
}

// What the device had free is in the entry; what it has in all is told by memsnap or a person, if at all.
void DeviceTrack::oom(size_t at) {
    const TraceEntry& entry = trace_[at];
    const Moment when = moment(entry, true);
    const uint64_t free_bytes = entry.address;
    std::optional<uint64_t> total_bytes;
    uint64_t told_free_bytes = free_bytes;
    if (observation_at_ < observations_.size() && observations_[observation_at_].before_entry == at) {
        const Observation& told = observations_[observation_at_++];
        total_bytes = told.total_bytes;
        if (free_bytes == kFreeUnknown) told_free_bytes = told.free_bytes;
    } else if (all_.card_bytes && observations_.empty()) {
        total_bytes = all_.card_bytes;
    }
    if (total_bytes && told_free_bytes != kFreeUnknown)
        all_.image.failing_observation(when, *total_bytes, told_free_bytes);
    if (all_.snapshot.tap)
        all_.image.tap(when, wire::Kind::tap_oom,
                       unknown_request_count_ == 0 ? requested_bytes_ : wire::kRequestedUnknown,
                       entry.size_bytes, entry.stream, entry.pool, free_bytes);
    all_.image.oom(when, entry.size_bytes);
}

}  // namespace memsnap::snapshot
