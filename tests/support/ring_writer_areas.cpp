// SPDX-License-Identifier: Apache-2.0
//
// The areas beside the ring and the live table: pinned, boundaries, keyframes, libraries, anchors.
#include <algorithm>
#include <cstring>

#include "ring_writer.h"

namespace memsnap::test {

wire::PinnedDevice& RingWriter::pinned(int device) {
    return area<wire::PinnedDevice>(wire::AreaId::pinned)[device];
}

wire::Boundary& RingWriter::boundary(uint64_t closing_ticket, int device) {
    wire::Boundary& it = area<wire::Boundary>(wire::AreaId::boundaries)[header().boundary_count];
    it = {};
    it.state = closing_ticket + 1;
    it.time = at(closing_ticket).time;
    it.opened_ticket = wire::kNoTicket;
    it.ordinal = header().boundary_count++;
    it.thread = thread;
    it.device = static_cast<int8_t>(device);
    put_u40(it.allocated, totals_[device].allocated_bytes / wire::kTotalsUnit_bytes);
    put_u40(it.reserved, totals_[device].reserved_bytes / wire::kTotalsUnit_bytes);
    put_u40(it.device_free, ~uint64_t{0});
    return it;
}

void RingWriter::library_entry(uint16_t index, wire::LibraryRole role) {
    area<wire::Library>(wire::AreaId::libraries)[index].role = role;
    header().library_count = std::max<uint32_t>(header().library_count, index + 1U);
}

void RingWriter::anchor(uint64_t counter, uint64_t monotonic_ns, uint64_t realtime_ns) {
    wire::Anchor* const anchors = area<wire::Anchor>(wire::AreaId::anchors);
    const auto unused =
        std::find_if(anchors, anchors + 16, [](const wire::Anchor& a) { return a.state == 0; });
    *unused = {static_cast<uint64_t>(unused - anchors) + 1, counter, monotonic_ns, realtime_ns};
}

void RingWriter::keyframe(uint32_t slot, uint64_t failure_ticket, const std::vector<uint64_t>& operation) {
    const uint32_t slot_bytes = header().areas[static_cast<size_t>(wire::AreaId::keyframes)].entry_bytes;
    std::byte* const base = area<std::byte>(wire::AreaId::keyframes) + uint64_t{slot} * slot_bytes;
    wire::Keyframe head = {};
    head.begin = head.end = failure_ticket + 1;
    head.begin_ticket = head.end_ticket = header().head;
    head.failure = at(failure_ticket);
    head.operation_offset_bytes = sizeof head;
    head.operation_count = static_cast<uint32_t>(operation.size());
    head.ring_offset_bytes = sizeof head + sizeof(wire::Record) * wire::kKeyframeOperationRecords;
    head.ring_count = static_cast<uint32_t>(
        std::min<uint64_t>({header().head, options_.keyframe_ring_records, options_.ring_records}));
    head.pinned_offset_bytes =
        head.ring_offset_bytes + static_cast<uint32_t>(sizeof(wire::Record)) * options_.keyframe_ring_records;
    head.table_offset_bytes =
        head.pinned_offset_bytes + static_cast<uint32_t>(sizeof(wire::PinnedDevice)) * wire::kDeviceCapacity;
    for (size_t i = 0; i < operation.size(); ++i) {
        std::memcpy(base + head.operation_offset_bytes + i * sizeof(wire::Record), &at(operation[i]), 64);
    }
    for (uint32_t i = 0; i < head.ring_count; ++i) {
        std::memcpy(base + head.ring_offset_bytes + i * sizeof(wire::Record),
                    &at(header().head - head.ring_count + i), 64);
    }
    std::memcpy(base + head.pinned_offset_bytes, &pinned(0),
                sizeof(wire::PinnedDevice) * wire::kDeviceCapacity);
    for (const wire::LiveEntry& entry : table_) {
        if ((entry.state & 1) == 0) continue;
        if (head.entry_count == options_.keyframe_entries) {
            ++head.entries_dropped;
            continue;
        }
        std::memcpy(base + head.table_offset_bytes + head.entry_count++ * sizeof entry, &entry, sizeof entry);
    }
    std::memcpy(base, &head, sizeof head);
}

void RingWriter::exit(int32_t status) {
    header().exit_mark = header().head + 1;
    header().exit_status = status;
}

}  // namespace memsnap::test
