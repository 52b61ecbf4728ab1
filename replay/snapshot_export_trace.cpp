// SPDX-License-Identifier: Apache-2.0
//
// Blocks and calls to entries.
#include "snapshot_export_trace.h"

#include <algorithm>
#include <utility>

#include "outside.h"
#include "window_builder.h"

namespace memsnap {
namespace {

using snapshot::Action;

constexpr uint64_t kObservations_most = 1000;

bool is_range(uint64_t address, uint64_t size_bytes) {
    return size_bytes != 0 && address <= ~size_bytes;
}

// Whether `next` goes on where `entry` ends, on either side.
bool continues(const snapshot::WrittenEntry& entry, const snapshot::WrittenEntry& next) {
    const bool pages = entry.action == Action::segment_map || entry.action == Action::segment_unmap;
    return pages && next.action == entry.action && next.user_metadata == entry.user_metadata &&
           (entry.address + entry.size_bytes == next.address ||
            next.address + next.size_bytes == entry.address);
}

}  // namespace

DeviceTrace::DeviceTrace(const Capture& capture, const ExportSurvey& survey, ExportNames& names, int device,
                         EntrySink sink)
    : capture_(capture), survey_(survey), names_(names), device_(device), sink_(std::move(sink)) {
    take_begin();
}

void DeviceTrace::take_begin() {
    const Event begin;
    for (const auto& [from, to] : survey_.unseen[static_cast<size_t>(device_)])
        region_begins(exported_segment(from, to - from, 0, kNoTicket, false), begin);
    for (const LiveObject& object : capture_.window.objects) {
        const bool from_torch = (object.flags & kFromTorch) != 0;
        if (!object.live_at_begin || object.device != device_ || object.object == Object::block) continue;
        if (!survey_.is_segment(object.birth_ticket, object.object, from_torch)) continue;
        region_begins(exported_segment(object.address, object.size_bytes, object.site, object.birth_ticket,
                                       object.object == Object::mapping && from_torch),
                      begin);
    }
    for (const LiveObject& object : capture_.window.objects) {
        if (!object.live_at_begin || object.device != device_ || object.object != Object::block) continue;
        ExportedBlock block;
        block.address = object.address;
        block.size_bytes = block.requested_bytes = object.size_bytes;
        block.site = object.birth_known ? object.site : 0;
        if (is_range(block.address, block.size_bytes)) enter(block, begin);
    }
}

void DeviceTrace::take(const Event& event) {
    quiet_ = event.ticket < survey_.begin_ticket;
    if (event.kind == Kind::phase_begin || event.kind == Kind::phase_end) take_label(event);
    const bool by_birth = event.kind == Kind::free || event.kind == Kind::free_fail;
    if (event.device != device_ && !by_birth) return;
    switch (event.kind) {
        case Kind::block_alloc:
            return block_alloc(event);
        case Kind::block_free:
            return block_free(event);
        case Kind::block_oom:
            return oom(event);
        case Kind::initial:
            return initial(event);
        case Kind::ok:
        case Kind::initial_segment: {
            const Object object = object_of(event);
            const bool mapping = object == Object::mapping && event.has(kFromTorch);
            if (is_birth(event) && survey_.is_segment(event.ticket, object, event.has(kFromTorch)))
                region_begins(
                    exported_segment(event.address, event.size_bytes, event.site(), event.ticket, mapping),
                    event);
            return;
        }
        case Kind::free:
            return region_ends(event);
        case Kind::free_fail:
            return region_comes_back(event);
        case Kind::mem_info:
        case Kind::device_sample:
            return observe(event);
        case Kind::tap_alloc:
        case Kind::tap_free_requested:
        case Kind::tap_free_completed:
        case Kind::tap_segment_alloc:
        case Kind::tap_segment_free:
        case Kind::tap_segment_map:
        case Kind::tap_segment_unmap:
        case Kind::tap_oom:
            return take_tap(event);
        case Kind::none:
        case Kind::birth:
        case Kind::try_call:
        case Kind::fail:
        case Kind::blind:
        case Kind::operation:
        case Kind::process_sample:
        case Kind::neighbour:
        case Kind::phase_begin:
        case Kind::phase_end:
        case Kind::mark:
        case Kind::step:
        case Kind::note:
        case Kind::category:
        case Kind::cap:
        case Kind::keyframe:
        case Kind::cupti_memory:
            return;
    }
}

void DeviceTrace::finish() {
    flush();
    keep_last_observation();
}

void DeviceTrace::take_label(const Event& event) {
    if (event.family() != RangeFamily::none) return;
    RangeStack& labels = labels_[event.thread];
    if (event.kind == Kind::phase_begin) {
        labels.begin(event.ticket, static_cast<uint16_t>(event.exact_name()));
    } else {
        labels.end(event.address);
    }
}

// ---------------------------------------------------------------- blocks

ExportedBlock DeviceTrace::block_of(const Event& birth) const {
    ExportedBlock block;
    block.address = birth.address;
    block.size_bytes = block.requested_bytes = birth.size_bytes;
    block.site = birth.site();
    if (tap_alloc_.address == birth.address && birth.address != 0) {
        block.requested_bytes = tap_alloc_.requested_bytes;
        block.stream = tap_alloc_.stream;
        block.pool = tap_alloc_.pool;
    }
    return block;
}

// Blocks that are in its way have ended, though nobody told.
void DeviceTrace::enter(const ExportedBlock& block, const Event& event) {
    end_blocks(block.address, block.end(), event);
    memory_.add(block);
}

void DeviceTrace::initial(const Event& event) {
    if (!is_range(event.address, event.size_bytes)) return;
    enter(block_of(event), event);
    tap_alloc_ = {};
}

void DeviceTrace::block_alloc(const Event& event) {
    if (!is_range(event.address, event.size_bytes)) return;
    const ExportedBlock block = block_of(event);
    tap_alloc_ = {};
    flush();
    enter(block, event);
    if (memory_.block(block.address) == nullptr) return;
    snapshot::WrittenEntry entry = entry_of(event, Action::alloc);
    entry.address = block.address;
    entry.size_bytes = block.requested_bytes;
    entry.stream = block.stream;
    entry.pool = block.pool;
    entry.stack = block.site;
    emit(entry);
}

void DeviceTrace::block_free(const Event& event) {
    const auto told = [&](const std::optional<TapFree>& tap) { return tap && tap->address == event.address; };
    const snapshot::WrittenEntry requested =
        told(tap_requested_) ? tap_requested_->entry : entry_of(event, Action::free_requested);
    const snapshot::WrittenEntry completed =
        told(tap_completed_) ? tap_completed_->entry : entry_of(event, Action::free_completed);
    const bool deferred = told(tap_requested_) && !told(tap_completed_);
    tap_requested_.reset();
    tap_completed_.reset();
    const ExportedBlock* const found = memory_.block(event.address);
    if (found == nullptr || found->pending) return;
    flush();
    const ExportedBlock block = *found;
    tell_free(block, requested);
    if (deferred) {
        memory_.set_pending(block.address);
    } else {
        tell_free(block, completed);
        memory_.remove_block(block.address);
    }
}

void DeviceTrace::tell_free(const ExportedBlock& block, const snapshot::WrittenEntry& told) {
    snapshot::WrittenEntry entry = told;
    entry.address = block.address;
    entry.size_bytes = block.requested_bytes;
    entry.stream = block.stream;
    entry.pool = block.pool;
    emit(entry);
}

void DeviceTrace::end_blocks(uint64_t from, uint64_t to, const Event& event) {
    for (const ExportedBlock& block : memory_.blocks_in(from, to)) {
        flush();
        if (!block.pending) tell_free(block, entry_of(event, Action::free_requested));
        tell_free(block, entry_of(event, Action::free_completed));
        memory_.remove_block(block.address);
    }
}

void DeviceTrace::oom(const Event& event) {
    flush();
    snapshot::WrittenEntry entry = entry_of(event, Action::oom);
    entry.size_bytes = event.size_bytes;
    tell_oom(event, entry);
    entry.stack = event.site();
    keep_last_observation();
    emit(entry);
}

// ---------------------------------------------------------------- segments

void DeviceTrace::make_room(uint64_t from, uint64_t to, const Event& event) {
    end_blocks(from, to, event);
    for (const ExportedSegment& other : memory_.segments_in(from, to)) {
        const uint64_t begin = other.expandable ? std::max(from, other.address) : other.address;
        const uint64_t end = other.expandable ? std::min(to, other.end()) : other.end();
        end_blocks(begin, end, event);
        flush();
        snapshot::WrittenEntry entry =
            entry_of(event, other.expandable ? Action::segment_unmap : Action::segment_free);
        entry.address = begin;
        entry.size_bytes = end - begin;
        entry.stream = other.stream;
        entry.pool = other.pool;
        emit(entry);
        memory_.remove_segments(begin, end);
    }
}

void DeviceTrace::region_begins(const ExportedSegment& segment, const Event& event) {
    if (!is_range(segment.address, segment.size_bytes)) return;
    make_room(segment.address, segment.end(), event);
    memory_.add(segment);
    if (segment.birth_ticket != kNoTicket) regions_[segment.birth_ticket] = segment;
    if (event.kind == Kind::initial_segment) return;
    Pending pending;
    pending.entry = entry_of(event, segment.expandable ? Action::segment_map : Action::segment_alloc);
    pending.entry.address = segment.address;
    pending.entry.size_bytes = segment.size_bytes;
    pending.entry.stack = segment.site;
    tell_later(pending);
}

void DeviceTrace::region_ends(const Event& event) {
    if (!is_death(event)) return;
    const auto found = regions_.find(event.birth_ticket());
    if (found == regions_.end()) return;
    const ExportedSegment segment = found->second;
    regions_.erase(found);
    const ExportedSegment* const held = memory_.segment_of(segment.address);
    if (held == nullptr || segment.end() > held->end()) return;
    end_blocks(segment.address, segment.end(), event);
    Pending pending;
    pending.entry = entry_of(event, segment.expandable ? Action::segment_unmap : Action::segment_free);
    pending.entry.address = segment.address;
    pending.entry.size_bytes = segment.size_bytes;
    pending.entry.stream = held->stream;
    pending.entry.pool = held->pool;
    pending.segment = segment;
    pending.segment.stream = held->stream;
    pending.segment.pool = held->pool;
    memory_.remove_segments(segment.address, segment.end());
    tell_later(pending);
}

// The call was refused, so nothing has ended.
void DeviceTrace::region_comes_back(const Event& event) {
    if (!is_refused_death(event) || event.birth_ticket() == kNoTicket) return;
    const auto ended = std::ranges::find_if(pending_, [&](const Pending& pending) {
        return pending.segment.size_bytes != 0 && pending.segment.birth_ticket == event.birth_ticket();
    });
    if (ended == pending_.end()) return;
    memory_.add(ended->segment);
    regions_[event.birth_ticket()] = ended->segment;
    pending_.erase(ended);
}

// ---------------------------------------------------------------- telling

void DeviceTrace::observe(const Event& event) {
    if (!is_observation(event)) return;
    Pending pending;
    pending.observation = event;
    tell_later(pending);
}

// Of too many, the first, the last and the last before each failure are kept.
void DeviceTrace::keep_observation(const snapshot::Observation& observation) {
    const bool all = survey_.observation_count <= kObservations_most;
    if (all || (observations_.empty() && !last_observation_)) {
        observations_.push_back(observation);
    } else {
        last_observation_ = observation;
    }
}

void DeviceTrace::keep_last_observation() {
    if (last_observation_) observations_.push_back(*last_observation_);
    last_observation_.reset();
}

snapshot::WrittenEntry DeviceTrace::entry_of(const Event& event, Action action) const {
    snapshot::WrittenEntry entry;
    entry.action = action;
    if (const auto time_ns = capture_.realtime_ns(event.time_counter)) entry.time_us = *time_ns / 1000;
    const auto labels = labels_.find(event.thread);
    if (labels != labels_.end() && !labels->second.empty())
        entry.user_metadata = names_.of_range(labels->second.innermost_name());
    return entry;
}

void DeviceTrace::tell_later(const Pending& pending) {
    if (!quiet_) pending_.push_back(pending);
}

// Clocks of two processors may differ a little; the order is that of the tickets.
void DeviceTrace::emit(const snapshot::WrittenEntry& entry) {
    if (quiet_) return;
    ++entry_count_;
    snapshot::WrittenEntry in_order = entry;
    if (entry.time_us) in_order.time_us = last_time_us_ = std::max(last_time_us_, *entry.time_us);
    sink_(in_order);
}

void DeviceTrace::flush() {
    for (size_t at = 0; at < pending_.size(); ++at) {
        if (const auto& observed = pending_[at].observation) {
            if (observed->kind == Kind::mem_info) {
                last_answer_ = observed;
                last_answer_entry_ = entry_count_;
            }
            if (!capture_.header.total_stated)
                keep_observation({.device = device_,
                                  .before_entry = entry_count_,
                                  .total_bytes = observed->device_total_bytes(),
                                  .free_bytes = observed->device_free_bytes()});
            continue;
        }
        snapshot::WrittenEntry entry = pending_[at].entry;
        while (!pending_[at].whole && at + 1 < pending_.size() && !pending_[at + 1].whole &&
               !pending_[at + 1].observation && continues(entry, pending_[at + 1].entry)) {
            const snapshot::WrittenEntry& next = pending_[++at].entry;
            entry.address = std::min(entry.address, next.address);
            entry.size_bytes += next.size_bytes;
        }
        emit(entry);
    }
    pending_.clear();
}

}  // namespace memsnap
