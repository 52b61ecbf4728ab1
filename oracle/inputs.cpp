// SPDX-License-Identifier: Apache-2.0
//
// Gathers the ledgers, the extents' sums and the request at the failing instant. Rule: totals are the
// failure's own, else the last reported, else our sums.
#include "inputs.h"

#include "thresholds.h"

namespace oracle {
namespace {

using namespace thresholds;

Wanted wanted_by(const Failed& failed, const Operation& operation) {
    const auto& failure = failed.event;
    Wanted wanted;
    wanted.request_bytes = failure.size;
    wanted.private_pool_rule = failed.victim == Victim::kPytorch && !failure.has(kCapturing);
    if (const auto& tap = operation.tap_oom) wanted.place = Place{tap->extra, tap->extra16};
    return wanted;
}

Int rounded_up(Int value, Int unit) {
    return unit == 0 ? value : (value + unit - 1) / unit * unit;
}

void gather_request(const Scene& scene, const Failed& failed, const Operation& operation, Inputs& inputs) {
    inputs.request_bytes = failed.event.size;
    if (failed.victim != Victim::kPytorch) {
        inputs.segment_request_bytes = failed.event.size;
        inputs.segment_request_observed = true;
        inputs.device_call = DeviceCall::kFailed;
        inputs.first_refused = failed.event.ticket;
        return;
    }
    Int request = failed.event.size;
    inputs.first_refused = operation.first_refused;
    if (operation.first_refused) {
        inputs.device_call = DeviceCall::kFailed;
        inputs.segment_request_bytes = operation.record->size;
        inputs.segment_request_observed = operation.record->call != kCallMemCreate;
        if (inputs.segment_request_observed) return;
        Int tail = 0;
        for (const auto& extent : inputs.state.extents) {
            const auto& segment = inputs.state.segments[extent.segment];
            bool ends = segment.expandable && extent.end == segment.end && extent.state == ExtentState::kFree;
            if (ends && extent.compatibility != Compatibility::kIncompatible)
                tail = std::max<Int>(tail, extent.size());
        }
        inputs.segment_request_bytes = std::max(inputs.segment_request_bytes,
                                                rounded_up(less(request, tail), operation.record->address));
        return;
    }
    const auto& regions = scene.regions.all;
    bool hooked = std::any_of(regions.begin(), regions.end(), [&](const Region& region) {
        return region.device == inputs.device && region.from <= inputs.ticket &&
               region.segment_since <= inputs.ticket;
    });
    // Only the recorder sees every call: elsewhere a call that nobody told of may still have been made.
    if (operation.record && hooked && scene.recording.file->header.from_recorder())
        inputs.device_call = DeviceCall::kNoneMade;
    if (request <= kSmallRequestBytes) {
        inputs.segment_request_bytes = kSmallSegmentBytes;
    } else if (request < kLargeRequestBytes) {
        inputs.segment_request_bytes = kLargeSegmentBytes;
    } else {
        inputs.segment_request_bytes = rounded_up(request, kSmallSegmentBytes);
    }
}

void gather_totals(const Scene& scene, const Failed& failed, Inputs& inputs) {
    u64 f = inputs.ticket;
    const Event* report = nullptr;
    for (const auto& event : scene.recording.events) {
        if (event.ticket <= f && event.device == inputs.device && event.is_report()) report = &event;
    }
    Int segments = scene.regions.sum(inputs.device, Status::kSegment, f);
    inputs.direct_bytes = scene.regions.sum(inputs.device, Status::kDirect, f);
    if (failed.victim == Victim::kUncached)
        inputs.direct_bytes += scene.regions.sum(inputs.device, Status::kCandidate, f);
    bool own = failed.victim == Victim::kPytorch;
    if (own) report = &failed.event;
    inputs.reserved_bytes =
        (report != nullptr ? Int{report->reserved_bytes} : segments) + inputs.direct_bytes;
    inputs.allocated_bytes =
        (report != nullptr ? Int{report->allocated_bytes} : scene.live_block_bytes(inputs.device, f)) +
        inputs.direct_bytes;
    inputs.totals_observed = own && inputs.direct_bytes == 0;
    inputs.unseen_bytes = less(inputs.reserved_bytes - inputs.direct_bytes, segments);
}

void gather_uncertainty(const Scene& scene, Inputs& inputs) {
    const auto& file = *scene.recording.file;
    const auto& header = file.header;
    u64 f = inputs.ticket;
    const auto& missing = scene.recording.missing;
    bool lost = header.counters[kLost] != 0 || header.counters[kLapped] != 0 || header.start_mode != 0 ||
                (!file.table_complete && !scene.recording.from_keyframe) || file.copied_while_written ||
                (header.incomplete_from != 0 && header.incomplete_from - 1 <= f) ||
                (!missing.empty() && missing.front().first < f);
    inputs.incomplete = header.late() || (header.incomplete_from != 0 && header.incomplete_from - 1 <= f);
    if (!lost) return;
    Int difference = scene.unseen_block_bytes(inputs.device, f);
    inputs.uncertainty_bytes = difference < 0 ? -difference : difference;
}

// Pages that expandable segments could hand back from under a free extent.
Int whole_pages(const Segment& segment, const Extent& extent, Int request) {
    if (segment.expandable) return whole_granules(segment, extent);
    Int page = request <= thresholds::kSmallRequestBytes ? thresholds::kSmallSegmentBytes
                                                         : thresholds::kLargeSegmentBytes;
    return Int{extent.size()} / page * page;
}

void gather_extents(Inputs& inputs) {
    Int request = *inputs.request_bytes;
    auto sums = free_sums(inputs.state, request);
    inputs.reusable_bytes = sums.reusable;
    inputs.fragmented_bytes = sums.fragmented;
    inputs.incompatible_bytes = sums.incompatible;
    for (const auto& extent : inputs.state.extents) {
        if (extent.state != ExtentState::kFree || extent.compatibility == Compatibility::kIncompatible)
            continue;
        Int size = extent.size();
        inputs.largest_bytes = std::max(inputs.largest_bytes, size);
        if (extent.compatibility == Compatibility::kCompatible)
            inputs.largest_compatible_bytes = std::max(inputs.largest_compatible_bytes, size);
        inputs.remappable_bytes += whole_pages(inputs.state.segments[extent.segment], extent, request);
    }
    inputs.fragmented_bytes += less(inputs.slack_bytes(), inputs.free_extent_bytes());
}

// From when on a hole that fits was there too late: the first refused call, or where nobody tells of calls
// the last time that the allocator was asked before.
std::optional<u64> asked_at(const Recording& recording, const Inputs& inputs) {
    if (recording.file->header.from_recorder()) return inputs.first_refused;
    u64 asked = recording.begin;
    for (const auto& event : recording.events) {
        bool before = event.ticket < inputs.ticket && event.device == inputs.device;
        if (before && event.kind == kBlockAlloc) asked = event.ticket + 1;
    }
    return asked;
}

void gather_hole_release(const Recording& recording, Inputs& inputs) {
    std::vector<const Extent*> holes;
    for (const auto& extent : inputs.state.extents) {
        bool fits =
            extent.compatibility == Compatibility::kCompatible && Int{extent.size()} >= *inputs.request_bytes;
        if (fits) holes.push_back(&extent);
    }
    auto asked = asked_at(recording, inputs);
    if (holes.empty() || !asked) return;
    for (const auto& event : recording.events) {
        if (event.kind != kTapFreeCompleted || event.device != inputs.device || event.ticket < *asked ||
            event.ticket >= inputs.ticket)
            continue;
        for (const auto* hole : holes) {
            if (Int{event.address} < hole->end && Int{event.address} + event.size > hole->begin)
                inputs.hole_release = HoleRelease::kOverlaps;
        }
    }
    if (inputs.hole_release == HoleRelease::kUnknown && inputs.state.tap_seen && *asked >= recording.begin)
        inputs.hole_release = HoleRelease::kSeparate;
}

}  // namespace

Inputs gather(const Scene& scene, const Failed& failed) {
    Inputs inputs;
    inputs.victim = failed.victim;
    inputs.ticket = failed.event.ticket;
    inputs.device = failed.event.device;
    auto operation = operation_of(scene, failed);
    inputs.state = state_at(scene.recording, scene.lives, scene.regions, inputs.device, inputs.ticket,
                            wanted_by(failed, operation));
    gather_request(scene, failed, operation, inputs);
    bool traced = operation.tap_oom && operation.tap_oom->address != kUntold;
    if (traced) inputs.requested_bytes = operation.tap_oom->address;
    gather_totals(scene, failed, inputs);
    if (inputs.state.tap_seen) {
        inputs.deferred_bytes = 0;
        for (const auto* block : inputs.state.deferred)
            *inputs.deferred_bytes += block->size;
    }
    inputs.releasable_bytes = releasable_bytes(inputs.state);
    gather_uncertainty(scene, inputs);
    gather_extents(inputs);
    gather_hole_release(scene.recording, inputs);
    gather_outside(scene, failed, operation, inputs);
    return inputs;
}

}  // namespace oracle
