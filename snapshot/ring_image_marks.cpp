// SPDX-License-Identifier: Apache-2.0
//
// Ranges, the boundaries that they end with, and the pinned copies. The rule: the recorder's own decisions
// (WIRE.md §4, §6, §7), on one thread a device.
#include <algorithm>
#include <cstring>
#include <string>

#include "../interpose/wire_marks.h"
#include "ring_image_state.h"

namespace memsnap::snapshot {

namespace {

uint16_t innermost_label(const std::vector<OpenRange>& open) {
    for (auto range = open.rbegin(); range != open.rend(); ++range) {
        if (wire::labels_births(range->family)) return range->folded;
    }
    return 0;
}

bool has_label(const std::vector<OpenRange>& open) {
    return std::ranges::any_of(open,
                               [](const OpenRange& range) { return wire::labels_births(range.family); });
}

// Each run of digits becomes '#'.
std::string folded(std::string_view name) {
    std::string out;
    bool in_digits = false;
    for (const char c : name) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit) out += c;
        if (digit && !in_digits) out += '#';
        in_digits = digit;
    }
    return out;
}

// Over the older of two copies.
void store_in_turn(wire::Record (&copies)[2], const wire::Record& record) {
    copies[copies[0].seq <= copies[1].seq ? 0 : 1] = record;
}

}  // namespace

uint16_t RingImage::State::phase_on(uint16_t thread) const {
    if (threads[thread].has_labelled) return innermost_label(threads[thread].open);
    const ThreadImage* only = nullptr;
    for (const ThreadImage& other : threads) {
        if (!has_label(other.open)) continue;
        if (only != nullptr) return 0;
        only = &other;
    }
    return only == nullptr ? uint16_t{0} : innermost_label(only->open);
}

uint64_t RingImage::range_begin(const Moment& moment, std::string_view name, wire::Family family) {
    ThreadImage& thread = state_->thread_of(moment);
    if (thread.open.size() == kOpenRanges_most) {
        ++state_->left_out_range_count;
        return wire::kNoTicket;
    }
    const uint16_t exact = state_->names.name(name);
    const uint16_t folded_name = state_->names.name(folded(NamesImage::kept_name(name)));
    thread.has_labelled |= wire::labels_births(family);
    wire::Record record = state_->blank(moment, wire::Kind::phase_begin);
    record.flags = 0;
    record.library = 0;
    record.link = uint64_t{exact} << 32 | folded_name;
    record.code = static_cast<uint16_t>(family);
    const uint64_t ticket = state_->append(moment, record).seq - 1;
    thread.open.push_back({ticket, exact, folded_name, family});
    return ticket;
}

void RingImage::range_end(const Moment& moment, uint64_t range) {
    std::vector<OpenRange>& open = state_->thread_of(moment).open;
    const auto ends = std::ranges::lower_bound(open, range, {}, &OpenRange::ticket);
    if (ends == open.end() || ends->ticket != range) return;
    const OpenRange ended = *ends;
    const auto inner = open.erase(ends);
    wire::Record record = state_->blank(moment, wire::Kind::phase_end);
    record.flags = 0;
    record.library = 0;
    record.address = ended.ticket;
    record.link = uint64_t{ended.exact} << 32 | ended.folded;
    record.code = static_cast<uint16_t>(ended.family);
    state_->append(moment, record);
    if (!wire::ends_in_boundary(ended.family)) return;
    const std::ranges::subrange outer(open.begin(), inner);
    const auto encloses = [&](const OpenRange& other) {
        return wire::ends_in_boundary(other.family) &&
               (other.family == wire::Family::module) == (ended.family == wire::Family::module);
    };
    const auto is_optimizer = [](const OpenRange& other) { return other.family == wire::Family::optimizer; };
    if (ended.family == wire::Family::optimizer && std::ranges::any_of(outer, is_optimizer)) return;
    const auto depth = std::min<ptrdiff_t>(std::ranges::count_if(outer, encloses), UINT8_MAX);
    state_->close_boundary(moment, ended, state_->last, static_cast<uint8_t>(depth));
}

void RingImage::State::close_boundary(const Moment& moment, const OpenRange& range, const wire::Record& end,
                                      uint8_t depth) {
    const uint32_t ordinal = boundary_ordinal;
    bool told = false;
    for (size_t at = 0; at < devices.size(); ++at) {
        DeviceImage& device = devices[at];
        if (!device.pins.has_reported()) continue;
        told = true;
        wire::Boundary boundary = {};
        boundary.state = end.seq;
        boundary.time = end.time;
        boundary.opened_ticket = range.ticket;
        boundary.ordinal = ordinal;
        boundary.name = range.exact;
        boundary.folded_name = range.folded;
        boundary.thread = thread_index(moment);
        boundary.family = static_cast<uint8_t>(range.family);
        boundary.device = static_cast<int8_t>(at);
        boundary.depth = depth;
        put_u40(boundary.allocated, device.reported_allocated_bytes / wire::kTotalsUnit_bytes);
        put_u40(boundary.reserved, device.reported_reserved_bytes / wire::kTotalsUnit_bytes);
        const wire::Record& observation = device.pins.last_observation();
        put_u40(boundary.device_free,
                observation.seq == 0 ? ~uint64_t{0} : observation.link / wire::kTotalsUnit_bytes);
        if (observation.seq != 0)
            boundary.free_age = static_cast<uint32_t>((end.time - observation.time) >> wire::kAgeShift_bits);
        seal(boundary);
        boundaries.push_back(boundary);
        device.pins.boundary();
    }
    if (told) ++boundary_ordinal;
}

void DevicePins::block(const wire::Record& report, uint64_t allocated_bytes, uint64_t reserved_bytes) {
    if (!has_reported_) copies_->first_report = report;
    has_reported_ = true;
    if (allocated_bytes > peak_allocated_bytes_) {
        peak_allocated_bytes_ = allocated_bytes;
        store_in_turn(copies_->peak_allocated, report);
    }
    if (reserved_bytes > peak_reserved_bytes_) {
        peak_reserved_bytes_ = reserved_bytes;
        store_in_turn(copies_->peak_reserved, report);
    }
}

void DevicePins::observation(const wire::Record& record, uint64_t reserved_bytes) {
    last_observation_ = record;
    store_in_turn(copies_->last_observation, record);
    if (!has_reported_) return;
    const auto outside_bytes = static_cast<int64_t>(record.size - record.link - reserved_bytes);
    if (!has_observation_) copies_->first_observation = record;
    if (!has_observation_ || outside_bytes > peak_outside_bytes_) {
        peak_outside_bytes_ = outside_bytes;
        store_in_turn(copies_->peak_outside, record);
    }
    has_observation_ = true;
}

void DevicePins::boundary() {
    if (!bounded_ && last_observation_.seq != 0)
        store_in_turn(copies_->before_first_boundary, last_observation_);
    bounded_ = true;
}

}  // namespace memsnap::snapshot
