// SPDX-License-Identifier: Apache-2.0
//
// Header, tables and the end of the ring, each copied once. A file that was never armed has a header alone,
// and one in standby no ring.
#include "reader_live.h"

#include <algorithm>
#include <optional>

#include "reader.h"

namespace memsnap {

Result<LiveFacts> read_live(const std::string& path) {
    auto file = RingFile::open(path);
    if (!file) return failure(std::move(file.error()));
    return Reader(std::move(*file)).read_live();
}

Result<LiveFacts> Reader::read_live() {
    if (!read_header()) return failure(std::move(error_));
    std::vector<Event> newest;
    if (!is_dormant() && !(read_table() && reread_header() && read_newest(newest) && read_live_pinned() &&
                           read_boundaries() && read_small_tables() && list_keyframes()))
        return failure(std::move(error_));
    take_header();
    return LiveFacts{std::move(capture_), std::move(table_), std::move(newest)};
}

// Slots of the newest tickets, which may lie on both sides of the ring's end.
bool Reader::read_newest(std::vector<Event>& newest) {
    const wire::Area& ring = area(wire::AreaId::ring);
    const uint64_t count = std::min({wire_.head, uint64_t{ring.entry_count}, kNewestRecords_count});
    std::vector<wire::Record> records;
    for (uint64_t ticket = wire_.head - count; ticket < wire_.head; ticket += records.size()) {
        const uint64_t slot = ticket % ring.entry_count;
        records.resize(std::min(wire_.head - ticket, ring.entry_count - slot));
        const uint64_t offset_bytes = ring.offset_bytes + slot * sizeof(wire::Record);
        if (!copy(offset_bytes, std::as_writable_bytes(std::span(records)))) return false;
        for (size_t i = 0; i < records.size(); ++i) {
            const auto event = decode_checked(records[i]);
            if (event && event->ticket == ticket + i) newest.push_back(*event);
        }
    }
    return true;
}

bool Reader::read_live_pinned() {
    std::vector<std::byte> bytes(sizeof(wire::PinnedDevice) * wire::kDeviceCapacity);
    if (!copy(area(wire::AreaId::pinned).offset_bytes, bytes)) return false;
    decode_pinned(bytes, capture_.pinned);
    return true;
}

}  // namespace memsnap
