// SPDX-License-Identifier: Apache-2.0
#include "ring_layout.h"

#include "live_table.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kAnchorCapacity = 2048;

uint64_t round_up(uint64_t value, uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

wire::Area make_area(uint64_t offset_bytes, uint64_t entry_bytes, uint64_t entry_count) {
    return {offset_bytes, round_up(entry_bytes * entry_count, wire::kAreaAlignment_bytes),
            static_cast<uint32_t>(entry_bytes), static_cast<uint32_t>(entry_count)};
}

uint64_t keyframe_bytes(uint32_t table_entry_count) {
    return round_up(sizeof(wire::Keyframe) + wire::kKeyframeOperationRecords * sizeof(wire::Record) +
                        wire::kDeviceCapacity * sizeof(wire::PinnedDevice) +
                        wire::kKeyframeRingRecords * sizeof(wire::Record) +
                        uint64_t{table_entry_count} * sizeof(wire::LiveEntry),
                    wire::kAreaAlignment_bytes);
}

}  // namespace

wire::Area ring_at(uint64_t offset_bytes, const Settings& settings) {
    return make_area(offset_bytes, sizeof(wire::Record), settings.ring_bytes / sizeof(wire::Record));
}

Layout choose_layout(const Settings& settings, wire::ArmState state) {
    Layout layout{};
    layout.table_entry_count =
        settings.table_entry_count / LiveTable::kSlotsPerBucket * LiveTable::kSlotsPerBucket;
    layout.file_bytes = wire::kAreaAlignment_bytes;
    if (state == wire::ArmState::cold) return layout;

    const bool standby = state == wire::ArmState::standby;
    const struct {
        uint64_t entry_bytes;
        uint64_t entry_count;
    } sizes[wire::kAreaCount] = {
        {sizeof(wire::Record), standby ? 0 : settings.ring_bytes / sizeof(wire::Record)},
        {sizeof(wire::LiveEntry), layout.table_entry_count},
        {sizeof(wire::PinnedDevice), wire::kDeviceCapacity},
        {sizeof(wire::Boundary), settings.boundary_entry_count},
        {keyframe_bytes(layout.table_entry_count), wire::kKeyframeSlots + (standby ? 1U : 0U)},
        {sizeof(wire::Thread), kThreadCapacity},
        {sizeof(wire::Library), kLibraryCapacity},
        {sizeof(wire::Anchor), kAnchorCapacity},
    };
    for (uint32_t i = 0; i < wire::kAreaCount; ++i) {
        layout.areas[i] = make_area(layout.file_bytes, sizes[i].entry_bytes, sizes[i].entry_count);
        layout.file_bytes += layout.areas[i].size_bytes;
    }
    wire::Area& ring = layout.areas[static_cast<uint32_t>(wire::AreaId::ring)];
    if (ring.entry_count == 0) ring.offset_bytes = layout.file_bytes;
    return layout;
}

}  // namespace memsnap::recorder
