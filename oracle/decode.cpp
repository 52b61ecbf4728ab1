// SPDX-License-Identifier: Apache-2.0
//
// The window of the ring and the small tables (VERDICT.md §2, WIRE.md §3, §5, §7, §9). Rule: ticket t is
// accepted in slot t mod n when seq and check fit; every other ticket of the window is missing.
#include <algorithm>

#include "checksum.h"
#include "file.h"
#include "thresholds.h"

namespace oracle {
namespace {

// `disarmed`: the window ends where the header says that it was.
Expected<void> read_ring(Bytes bytes, std::optional<u64> head_after, bool disarmed, File& file) {
    const auto& area = file.header.areas[kRing];
    u64 n = area.entry_count;
    file.end = disarmed ? file.header.disarmed_at - 1 : file.header.head;
    u64 newest_head = disarmed ? file.end : std::max(file.end, head_after.value_or(file.end));

    bool exited = file.header.exit_mark != 0;
    std::vector<Event> accepted;
    accepted.reserve(n);
    for (u64 slot = 0; slot < n; ++slot) {
        u64 offset = area.offset + slot * kRecordBytes;
        auto record = bytes.subspan(offset, kRecordBytes);
        u64 ticket = integer64(record, 0) - 1;
        auto seal = record_seal(record);
        if (seal == Seal::kEmpty) continue;
        if (seal == Seal::kTorn) {
            if (exited) return corrupt("record_check", ticket, offset);
            if (ticket % n == slot) ++file.torn_count;
            continue;
        }
        if (ticket % n != slot) return corrupt("record_order", ticket, offset);
        newest_head = std::max(newest_head, ticket + 1);
        accepted.push_back(decode_record(record, offset));
    }
    // What the writer overwrote while the file was being copied cannot be trusted.
    file.copied_while_written = !disarmed && newest_head != file.end;
    u64 armed_from = file.header.armed_from;
    u64 oldest = std::max(armed_from, newest_head > n ? newest_head - n : 0);
    file.oldest = std::min(file.end, oldest);
    file.begin = file.oldest;
    if (oldest != armed_from) file.begin += std::min(file.end - file.oldest, n / thresholds::kWindowDivisor);
    std::erase_if(accepted, [&](const Event& event) {
        if (event.ticket < file.oldest || event.ticket >= file.end) return true;
        bool known = kind_is_known(event.kind) && call_name(event.call);
        if (!known && event.ticket >= file.begin) ++file.unknown_kind_count;
        return !known;
    });
    // What is left spans less than a lap, so slots hold it in the order of tickets, but for where it begins.
    std::rotate(accepted.begin(),
                std::min_element(accepted.begin(), accepted.end(),
                                 [](const Event& a, const Event& b) { return a.ticket < b.ticket; }),
                accepted.end());
    u64 expected = file.begin;
    for (const auto& event : accepted) {
        if (event.ticket < file.begin) {
            file.earlier.push_back(event);
            continue;
        }
        if (event.ticket > expected) file.missing.emplace_back(expected, event.ticket);
        expected = event.ticket + 1;
        file.events.push_back(event);
    }
    if (file.end > expected) file.missing.emplace_back(expected, file.end);
    for (auto [from, to] : file.missing)
        file.missing_count += to - from;
    file.missing_count -= file.unknown_kind_count;  // counted apart
    return {};
}

void read_table(Bytes bytes, File& file) {
    const auto& area = file.header.areas[kTable];
    for (u64 i = 0; i < area.entry_count; ++i) {
        u64 offset = area.offset + i * area.entry_bytes;
        auto entry = bytes.subspan(offset, kRecordBytes);
        u64 state = integer64(entry, 0);
        if (state == 0) continue;
        if (state >> 1 > file.end) file.copied_while_written = true;
        file.table.push_back(decode_entry(entry, offset));
    }
}

Expected<void> read_boundaries(Bytes bytes, File& file) {
    const auto& area = file.header.areas[kBoundaries];
    constexpr u64 kNeverObserved = (u64{1} << 40) - 1;
    for (u64 i = 0; i < file.header.boundary_count; ++i) {
        u64 offset = area.offset + i * area.entry_bytes;
        auto entry = bytes.subspan(offset, kRecordBytes);
        u64 state = integer64(entry, 0);
        if (state == 0) continue;
        if (crc32c(entry.subspan(8, 24), entry.subspan(36, 28)) != integer32(entry, 32)) {
            if (file.header.exit_mark != 0) return corrupt("boundary_check", state - 1, offset);
            continue;
        }
        Boundary boundary;
        boundary.closed = state - 1;
        boundary.opened = integer64(entry, 16);
        boundary.dimensions = integer32(entry, 36);
        boundary.folded_name = integer16(entry, 42);
        boundary.thread = integer16(entry, 44);
        boundary.family = integer8(entry, 46);
        boundary.device = device_of(integer8(entry, 47));
        boundary.allocated_bytes = integer40(entry, 48) * thresholds::kGranuleBytes;
        boundary.reserved_bytes = integer40(entry, 53) * thresholds::kGranuleBytes;
        u64 device_free = integer40(entry, 58);
        if (device_free != kNeverObserved)
            boundary.device_free_bytes = device_free * thresholds::kGranuleBytes;
        boundary.depth = integer8(entry, 63);
        file.boundaries.push_back(boundary);
    }
    std::stable_sort(file.boundaries.begin(), file.boundaries.end(),
                     [](const Boundary& a, const Boundary& b) { return a.closed < b.closed; });
    return {};
}

void read_small_tables(Bytes bytes, File& file) {
    const auto& libraries = file.header.areas[kLibraries];
    for (u64 i = 0; i < file.header.library_count; ++i) {
        u64 at = libraries.offset + i * 16;
        file.libraries.push_back({integer8(bytes, at), integer64(bytes, at + 8)});
    }
    const auto& anchors = file.header.areas[kAnchors];
    for (u64 i = 0; i < anchors.entry_count; ++i) {
        u64 at = anchors.offset + i * anchors.entry_bytes;
        if (integer64(bytes, at) != 0)
            file.anchors.push_back(
                {integer64(bytes, at + 8), integer64(bytes, at + 16), integer64(bytes, at + 24)});
    }
    std::stable_sort(file.anchors.begin(), file.anchors.end(),
                     [](const Anchor& a, const Anchor& b) { return a.counter < b.counter; });
}

}  // namespace

Expected<File> decode(Bytes bytes, std::optional<u64> head_after) {
    auto header = decode_header(bytes, bytes.size());
    if (!header) return std::unexpected(header.error());
    File file;
    file.header = *header;
    auto disarmed = decode_disarmed(bytes, file.header);
    if (!disarmed) return std::unexpected(disarmed.error());
    file.without_window = !*disarmed && !file.header.keeps_ring();
    if (file.without_window) {
        file.oldest = file.begin = file.end = file.header.head;
    } else if (auto read = read_ring(bytes, head_after, disarmed->has_value(), file); !read) {
        return std::unexpected(read.error());
    }
    if (*disarmed) {
        file.table = std::move((*disarmed)->table);
        file.table_complete = (*disarmed)->complete;
        file.table_head = (*disarmed)->head_before;
    } else {
        read_table(bytes, file);
    }
    if (auto read = read_boundaries(bytes, file); !read) return std::unexpected(read.error());
    read_small_tables(bytes, file);
    const auto& pinned_area = file.header.areas[kPinned];
    auto pinned = decode_pinned(bytes.subspan(pinned_area.offset, pinned_area.size), pinned_area.offset,
                                file.header.exit_mark != 0);
    if (!pinned) return std::unexpected(pinned.error());
    file.pinned = *disarmed ? std::move((*disarmed)->pinned) : std::move(*pinned);
    auto keyframes = decode_keyframes(bytes, file.header.areas[kKeyframes]);
    if (!keyframes) return std::unexpected(keyframes.error());
    file.keyframes = std::move(*keyframes);
    u64 lap = std::max<u64>(1, file.header.areas[kRing].entry_count);
    std::erase_if(file.keyframes, [&](const Keyframe& keyframe) {
        u64 ticket = keyframe.failing.ticket;
        return ticket >= file.header.head && ticket - file.header.head >= lap;
    });
    return file;
}

}  // namespace oracle
