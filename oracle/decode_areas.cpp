// SPDX-License-Identifier: Apache-2.0
//
// The pinned area and the failure keyframes (WIRE.md §6, §8). Rule: of two copies the valid one with the
// higher seq counts; a keyframe slot counts when its begin is its end; offsets inside a slot are checked like
// those of the file.
#include "file.h"

namespace oracle {
namespace {

constexpr u64 kSamplesAt = 1152;
constexpr u64 kSampleCount = 64;

class PinnedReader {
  public:
    PinnedReader(Bytes device, u64 offset, bool exited) : device_(device), offset_(offset), exited_(exited) {}

    std::optional<Event> at(u64 byte) {
        auto record = device_.subspan(byte, kRecordBytes);
        auto seal = record_seal(record);
        if (seal == Seal::kTorn && exited_ && !broken_)
            broken_ = Error{kExitCorrupt, "record_check", integer64(record, 0) - 1, offset_ + byte, {}};
        if (seal != Seal::kFits) return std::nullopt;
        auto event = decode_record(record, offset_ + byte);
        return kind_is_known(event.kind) ? std::optional(event) : std::nullopt;
    }
    std::optional<Event> newest(u64 first, u64 count) {
        std::optional<Event> best;
        for (u64 index = first; index < first + count; ++index) {
            auto event = at(index * kRecordBytes);
            if (event && (!best || event->ticket > best->ticket)) best = event;
        }
        return best;
    }
    const std::optional<Error>& broken() const { return broken_; }

  private:
    Bytes device_;
    u64 offset_;
    bool exited_;
    std::optional<Error> broken_;
};

std::vector<Event> copies(Bytes slot, u64 slot_offset, u64 at, u64 count, bool& inside) {
    std::vector<Event> events;
    auto found = part(slot, at, count * kRecordBytes);
    inside = inside && found.has_value();
    for (u64 i = 0; found && i < count; ++i) {
        auto record = found->subspan(i * kRecordBytes, kRecordBytes);
        if (record_seal(record) != Seal::kFits) continue;
        auto event = decode_record(record, slot_offset + at + i * kRecordBytes);
        if (kind_is_known(event.kind) && call_name(event.call)) events.push_back(event);
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.ticket < b.ticket; });
    events.erase(std::unique(events.begin(), events.end(),
                             [](const Event& a, const Event& b) { return a.ticket == b.ticket; }),
                 events.end());
    return events;
}

}  // namespace

Expected<std::vector<PinnedDevice>> decode_pinned(Bytes area, u64 offset, bool exited) {
    std::vector<PinnedDevice> devices(kPinnedDevices);
    for (std::size_t i = 0; i < devices.size() && (i + 1) * kPinnedBytes <= area.size(); ++i) {
        PinnedReader reader(area.subspan(i * kPinnedBytes, kPinnedBytes), offset + i * kPinnedBytes, exited);
        auto& device = devices[i];
        reader.at(0);
        device.first_observation = reader.newest(1, 1);
        device.last_observation = reader.newest(2, 2);
        device.peak_allocated = reader.newest(4, 2);
        device.peak_reserved = reader.newest(6, 2);
        device.peak_outside = reader.newest(8, 2);
        device.last_process_sample = reader.newest(10, 2);
        device.first_process_sample = reader.newest(12, 1);
        device.last_cap = reader.newest(13, 2);
        device.before_first_boundary = reader.newest(15, 2);
        for (u64 sample = 0; sample < kSampleCount; ++sample) {
            if (auto event = reader.at(kSamplesAt + sample * kRecordBytes)) device.samples.push_back(*event);
        }
        std::stable_sort(device.samples.begin(), device.samples.end(),
                         [](const Event& a, const Event& b) { return a.ticket < b.ticket; });
        if (reader.broken()) return std::unexpected(*reader.broken());
    }
    return devices;
}

Expected<std::vector<Keyframe>> decode_keyframes(Bytes bytes, const Area& area) {
    std::vector<Keyframe> keyframes;
    for (u64 i = 0; i < std::min(area.entry_count, kFailureSlots); ++i) {
        u64 offset = area.offset + i * area.entry_bytes;
        auto slot = part(bytes, offset, area.entry_bytes);
        if (!slot || slot->size() < 128) continue;
        u64 begin = integer64(*slot, 0);
        if (begin == 0 || begin != integer64(*slot, 8)) continue;
        auto failing = slot->subspan(32, kRecordBytes);
        if (record_seal(failing) != Seal::kFits) return corrupt("keyframe", kNoTicket, offset);
        Keyframe keyframe;
        keyframe.head_after = integer64(*slot, 24);
        keyframe.failing = decode_record(failing, offset + 32);
        bool inside = true;
        keyframe.operation = copies(*slot, offset, integer32(*slot, 96), integer32(*slot, 100), inside);
        keyframe.ring = copies(*slot, offset, integer32(*slot, 108), integer32(*slot, 112), inside);
        u64 table_at = integer32(*slot, 116);
        u64 table_count = integer32(*slot, 120);
        auto table = part(*slot, table_at, table_count * kRecordBytes);
        auto pinned = part(*slot, integer32(*slot, 104), kPinnedDevices * kPinnedBytes);
        if (!inside || !table || !pinned) return corrupt("keyframe", keyframe.failing.ticket, offset);
        for (u64 entry = 0; entry < table_count; ++entry) {
            auto decoded = decode_entry(table->subspan(entry * kRecordBytes, kRecordBytes),
                                        offset + table_at + entry * kRecordBytes);
            if (decoded.live && decoded.check_fits) keyframe.table.push_back(decoded);
        }
        auto devices = decode_pinned(*pinned, offset + integer32(*slot, 104), false);
        keyframe.pinned = std::move(*devices);
        keyframes.push_back(std::move(keyframe));
    }
    return keyframes;
}

Expected<std::optional<Disarmed>> decode_disarmed(Bytes bytes, const Header& header) {
    std::optional<Disarmed> none;
    if (!header.made_in_standby() || header.areas[kRing].entry_count == 0 || header.disarmed_at == 0 ||
        header.disarmed_at - 1 < header.armed_from)
        return none;
    const auto& area = header.areas[kKeyframes];
    u64 offset = area.offset + u64{kFailureSlots} * area.entry_bytes;
    auto slot = part(bytes, offset, area.entry_bytes);
    if (!slot || slot->size() < 128) return none;
    u64 begin = integer64(*slot, 0), end_ticket = integer64(*slot, 24);
    if (begin == 0 || begin != integer64(*slot, 8) || end_ticket + 1 != header.disarmed_at) return none;
    u64 table_at = integer32(*slot, 116), count = integer32(*slot, 120);
    auto table = part(*slot, table_at, count * kRecordBytes);
    auto pinned = part(*slot, integer32(*slot, 104), kPinnedDevices * kPinnedBytes);
    if (!table || !pinned) return corrupt("keyframe", kNoTicket, offset);
    Disarmed disarmed;
    for (u64 i = 0; i < count; ++i) {
        auto entry = decode_entry(table->subspan(i * kRecordBytes, kRecordBytes),
                                  offset + table_at + i * kRecordBytes);
        if (entry.live && entry.check_fits) disarmed.table.push_back(entry);
    }
    disarmed.complete = integer32(*slot, 124) == 0;
    disarmed.head_before = integer64(*slot, 16);
    disarmed.pinned = *decode_pinned(*pinned, offset + integer32(*slot, 104), false);
    return disarmed;
}

}  // namespace oracle
