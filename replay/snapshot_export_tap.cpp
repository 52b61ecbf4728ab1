// SPDX-License-Identifier: Apache-2.0
//
// What the torch tap adds to the entries of a device. The rule: it refines what other records tell, and
// is no record of its own but for a free that comes later.
#include <algorithm>

#include "operation.h"
#include "snapshot_export_trace.h"

namespace memsnap {

using snapshot::Action;

void DeviceTrace::take_tap(const Event& event) {
    if (event.kind == Kind::tap_alloc) {
        tap_alloc_ = {event.address, event.size_bytes, event.stream(), event.pool()};
    } else if (event.kind == Kind::tap_free_requested) {
        tap_requested_ = {event.address, entry_of(event, Action::free_requested)};
        tap_completed_.reset();
    } else if (event.kind == Kind::tap_free_completed) {
        tap_free_completed(event);
    } else if (event.kind == Kind::tap_segment_alloc) {
        tap_segment(event, Action::segment_alloc);
    } else if (event.kind == Kind::tap_segment_free) {
        tap_segment(event, Action::segment_free);
    } else if (event.kind == Kind::tap_segment_map) {
        tap_segment(event, Action::segment_map);
    } else if (event.kind == Kind::tap_segment_unmap) {
        tap_segment(event, Action::segment_unmap);
    }
}

void DeviceTrace::tap_free_completed(const Event& event) {
    const ExportedBlock* const found = memory_.block(event.address);
    if (found != nullptr && found->pending) {
        flush();
        tell_free(*found, entry_of(event, Action::free_completed));
        memory_.remove_block(event.address);
        return;
    }
    if (found != nullptr || (tap_requested_ && tap_requested_->address == event.address)) {
        tap_completed_ = {event.address, entry_of(event, Action::free_completed)};
        return;
    }
    // Freed before the window: all that is known of it is what this record says.
    ExportedBlock block;
    block.address = event.address;
    block.size_bytes = block.requested_bytes = event.size_bytes;
    block.stream = event.stream();
    block.pool = event.pool();
    if (block.size_bytes == 0 || block.address > ~block.size_bytes) return;
    if (!memory_.blocks_in(block.address, block.end()).empty() || !memory_.add(block)) return;
    end_blocks(block.address, block.end(), event);
}

// Of a region that no call was seen making it tells nothing.
void DeviceTrace::tap_segment(const Event& event, Action action) {
    if (!event.told_again()) tell_pending(event, action);
    if (action == Action::segment_alloc || action == Action::segment_map)
        memory_.tell(event.address, event.stream(), event.pool());
}

// The calls that the tap's record is about: what they made or ended is one range of the allocator's.
void DeviceTrace::tell_pending(const Event& event, Action action) {
    const auto is_part = [&](const Pending& pending) {
        return !pending.observation && !pending.whole && pending.entry.action == action &&
               pending.entry.address >= event.address &&
               pending.entry.address - event.address < event.size_bytes;
    };
    const auto first = std::ranges::find_if(pending_, is_part);
    if (first == pending_.end()) return;
    first->entry.address = event.address;
    first->entry.size_bytes = event.size_bytes;
    first->entry.stream = event.stream();
    first->entry.pool = event.pool();
    first->whole = true;
    pending_.erase(std::remove_if(first + 1, pending_.end(), is_part), pending_.end());
}

// By the tap's record of it; else the failing operation asked the driver, if nothing was told since.
void DeviceTrace::tell_oom(const Event& oom, snapshot::WrittenEntry& entry) const {
    const bool asked =
        last_answer_ && last_answer_->thread == oom.thread && last_answer_entry_ == entry_count_;
    if (asked) entry.device_free_bytes = last_answer_->device_free_bytes();
    const auto told = tap_of_failure(capture_.window.events, oom);
    if (!told) return;
    entry.stream = told->stream();
    entry.pool = told->pool();
    if (told->device_free_bytes() != kNotTold) entry.device_free_bytes = told->device_free_bytes();
}

}  // namespace memsnap
