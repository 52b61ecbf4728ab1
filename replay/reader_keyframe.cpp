// SPDX-License-Identifier: Apache-2.0
//
// Failure keyframes and the pinned area. The rule: a keyframe is a small file of its own, read with the same
// checks and made into the same kind of window as the ring; one that was overwritten while it was copied is
// refused.
#include <fmt/format.h>

#include "reader.h"
#include "window_builder.h"

namespace memsnap {

namespace {

// Of two copies written in turn, the valid one with the higher ticket.
std::optional<Event> later(std::optional<Event> a, std::optional<Event> b) {
    if (!a) return b;
    if (!b) return a;
    return b->ticket > a->ticket ? b : a;
}

std::optional<Event> later(const wire::Record (&copies)[2]) {
    return later(decode_checked(copies[0]), decode_checked(copies[1]));
}

void take_samples(const wire::PinnedDevice& pinned, std::vector<Event>& samples) {
    for (const wire::Record& record : pinned.samples) {
        if (const auto sample = decode_checked(record)) samples.push_back(*sample);
    }
    std::sort(samples.begin(), samples.end(),
              [](const Event& a, const Event& b) { return a.ticket < b.ticket; });
}

// Copies are in use from the first record on; `sample_count` and the unused words lie between them.
std::optional<uint64_t> damaged_record(const wire::PinnedDevice& pinned) {
    const auto bytes = std::as_bytes(std::span(&pinned, 1));
    for (uint64_t at = 0; at < offsetof(wire::PinnedDevice, unused_records); at += sizeof(wire::Record)) {
        if (at == offsetof(wire::PinnedDevice, sample_count)) continue;
        const auto record = load<wire::Record>(bytes, at);
        if (record.seq != 0 && !check_fits(record)) return at;
    }
    return std::nullopt;
}

bool part(std::span<const std::byte> slot, uint64_t offset_bytes, uint64_t count, uint64_t entry_bytes,
          std::span<const std::byte>& out) {
    if (offset_bytes % 8 != 0 || offset_bytes > slot.size()) return false;
    if (count > (slot.size() - offset_bytes) / entry_bytes) return false;
    out = slot.subspan(offset_bytes, count * entry_bytes);
    return true;
}

}  // namespace

bool cut_keyframe(std::span<const std::byte> slot, KeyframeParts& parts) {
    const wire::Keyframe& head = parts.head = load<wire::Keyframe>(slot, 0);
    return part(slot, head.operation_offset_bytes, head.operation_count, sizeof(wire::Record),
                parts.operation) &&
           part(slot, head.pinned_offset_bytes, wire::kDeviceCapacity, sizeof(wire::PinnedDevice),
                parts.pinned) &&
           part(slot, head.ring_offset_bytes, head.ring_count, sizeof(wire::Record), parts.ring) &&
           part(slot, head.table_offset_bytes, head.entry_count, sizeof(wire::LiveEntry), parts.table);
}

namespace {

uint64_t first_ticket(std::span<const std::byte> ring) {
    for (uint64_t at = 0; at < ring.size(); at += sizeof(wire::Record)) {
        if (const auto event = decode_checked(load<wire::Record>(ring, at))) return event->ticket;
    }
    return kNoTicket;
}

// Where no ring was kept, or only a later one: what there is of the operation and the failing record, in the
// order of their tickets and with a slot for each ticket between them.
Pages operation_as_ring(const KeyframeParts& parts) {
    const uint64_t failed = parts.head.failure.seq - 1;
    uint64_t first = failed;
    const auto near = [&](const wire::Record& record) {
        const auto event = decode_checked(record);
        return event && event->ticket < failed && failed - event->ticket <= wire::kKeyframeRingRecords;
    };
    for (uint64_t at = 0; at < parts.operation.size(); at += sizeof(wire::Record)) {
        const auto record = load<wire::Record>(parts.operation, at);
        if (near(record)) first = std::min(first, record.seq - 1);
    }
    Pages pages((failed - first + 1) * sizeof(wire::Record));
    if (pages.bytes().empty()) return pages;
    const auto put = [&](const wire::Record& record) {
        std::memcpy(pages.bytes().data() + (record.seq - 1 - first) * sizeof record, &record, sizeof record);
    };
    for (uint64_t at = 0; at < parts.operation.size(); at += sizeof(wire::Record)) {
        const auto record = load<wire::Record>(parts.operation, at);
        if (near(record)) put(record);
    }
    put(parts.head.failure);
    return pages;
}

// The copied records: record i has the ticket origin + i, or is a gap.
StreamLayout ring_layout(std::span<const std::byte> ring, WindowFacts& facts) {
    StreamLayout layout;
    layout.slots = ring;
    layout.slot_count = std::max<uint64_t>(1, ring.size() / sizeof(wire::Record));
    layout.accepted.assign((layout.slot_count + 63) / 64, 0);
    const uint64_t count = ring.size() / sizeof(wire::Record);
    bool placed = false;
    for (uint64_t i = 0; i < count; ++i) {
        const auto record = load<wire::Record>(ring, i * sizeof(wire::Record));
        if (!decode_checked(record) || record.seq - 1 < i) continue;
        if (!placed) {
            layout.origin_ticket = record.seq - 1 - i;
            placed = true;
        }
        if (record.seq - 1 != layout.origin_ticket + i) continue;
        layout.accepted[i / 64] |= uint64_t{1} << (i % 64);
        ++facts.accepted_count;
    }
    layout.oldest_ticket = layout.begin_ticket = layout.origin_ticket;
    layout.end_ticket = layout.origin_ticket + count;
    for (uint64_t i = 0; i < count; ++i) {
        if ((layout.accepted[i / 64] >> (i % 64) & 1) != 0) continue;
        ++facts.missing_count;
        facts.first_missing_ticket = std::min(facts.first_missing_ticket, layout.origin_ticket + i);
    }
    return layout;
}

}  // namespace

std::vector<LiveObject> table_entries(std::span<const std::byte> table) {
    std::vector<LiveObject> entries;
    for (uint64_t at = 0; at < table.size(); at += sizeof(wire::LiveEntry)) {
        const auto entry = load<wire::LiveEntry>(table, at);
        if ((entry.state & 1) != 0 && check_fits(entry)) entries.push_back(decode(entry));
    }
    return entries;
}

namespace {

std::optional<Window> keyframe_window(const KeyframeParts& parts, const HeaderFacts& header) {
    WindowFacts facts;
    const auto declare = [&](Uncertainty uncertainty, bool holds) {
        facts.uncertain[static_cast<size_t>(uncertainty)] = holds;
    };
    StreamLayout layout = ring_layout(parts.ring, facts);
    declare(Uncertainty::records_missing, facts.missing_count != 0);
    declare(Uncertainty::events_lost, header.counters.lost != 0);
    declare(Uncertainty::events_lapped, header.counters.lapped != 0);
    declare(Uncertainty::late_start, header.start_mode == StartMode::late);
    declare(Uncertainty::table_incomplete, parts.head.entries_dropped != 0 || header.incomplete_from_ticket);
    // Other threads go on while the failing one copies.
    declare(Uncertainty::copied_while_written, parts.head.begin_ticket != parts.head.end_ticket);
    WindowSource source{
        .events = EventStream(std::move(layout)), .table = table_entries(parts.table), .facts = facts};
    source.table_head_ticket = parts.head.begin_ticket;
    if (parts.head.entries_dropped != 0) source.incomplete_from_ticket = 0;
    if (header.incomplete_from_ticket) source.incomplete_from_ticket = *header.incomplete_from_ticket;
    auto window = build_window(std::move(source));
    if (!window) return std::nullopt;
    return std::move(*window);
}

}  // namespace

std::optional<uint64_t> decode_pinned(std::span<const std::byte> bytes, PinnedDevices& devices) {
    std::optional<uint64_t> damaged;
    for (size_t i = 0; i < devices.size(); ++i) {
        const auto pinned = load<wire::PinnedDevice>(bytes, i * sizeof(wire::PinnedDevice));
        PinnedDevice& out = devices[i];
        out.first_report = decode_checked(pinned.first_report);
        out.first_observation = decode_checked(pinned.first_observation);
        out.last_observation = later(pinned.last_observation);
        out.peak_allocated = later(pinned.peak_allocated);
        out.peak_reserved = later(pinned.peak_reserved);
        out.peak_outside = later(pinned.peak_outside);
        out.last_processes = later(pinned.last_processes);
        out.first_processes = decode_checked(pinned.first_processes);
        out.cap = later(pinned.cap);
        out.before_first_boundary = later(pinned.before_first_boundary);
        take_samples(pinned, out.samples);
        if (damaged) continue;
        if (const auto at = damaged_record(pinned)) damaged = i * sizeof(wire::PinnedDevice) + *at;
    }
    return damaged;
}

Result<std::unique_ptr<Keyframe>> Capture::read_keyframe(uint32_t slot) const {
    const AreaFacts& area = header.areas[static_cast<size_t>(wire::AreaId::keyframes)];
    const uint64_t offset_bytes = area.offset_bytes + uint64_t{slot} * area.entry_bytes;
    const auto refuse = [&](std::string detail) {
        return failure(Error{.code = ErrorCode::corrupt,
                             .file = path,
                             .offset_bytes = offset_bytes,
                             .ticket = std::nullopt,
                             .rule = "keyframe",
                             .detail = fmt::format("failure keyframe {} {}", slot, detail),
                             .way_out = "the rest of the file is readable: memsnap-replay dump shows it"});
    };
    auto keyframe = std::make_unique<Keyframe>();
    keyframe->storage = Pages(area.entry_bytes);
    const auto bytes = keyframe->storage.bytes();
    if (slot >= area.entry_count || bytes.empty()) return refuse("cannot be copied");
    if (auto copied = file_.read(offset_bytes, bytes); !copied) return failure(std::move(copied.error()));
    uint64_t begin_again = 0;
    if (auto copied = file_.read(offset_bytes, std::as_writable_bytes(std::span(&begin_again, 1))); !copied) {
        return failure(std::move(copied.error()));
    }
    KeyframeParts parts;
    if (!cut_keyframe(bytes, parts)) return refuse("has parts outside its slot");
    const auto failing = decode_checked(parts.head.failure);
    if (parts.head.begin == 0 || parts.head.begin != parts.head.end || begin_again != parts.head.begin ||
        !failing) {
        return refuse("was being written");
    }
    keyframe->facts = {slot, parts.head.begin_ticket, parts.head.end_ticket, *failing,
                       parts.head.entries_dropped};
    for (uint64_t at = 0; at < parts.operation.size(); at += sizeof(wire::Record)) {
        if (const auto event = decode_checked(load<wire::Record>(parts.operation, at))) {
            keyframe->operation.push_back(*event);
        }
    }
    decode_pinned(parts.pinned, keyframe->pinned);
    if (first_ticket(parts.ring) > failing->ticket) {
        keyframe->records = operation_as_ring(parts);
        parts.ring = keyframe->records.bytes();
    }
    auto last_records = keyframe_window(parts, header);
    if (!last_records) return refuse("contradicts itself");
    keyframe->window = std::move(*last_records);
    return keyframe;
}

}  // namespace memsnap
