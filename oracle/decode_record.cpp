// SPDX-License-Identifier: Apache-2.0
//
// One record, one table entry (WIRE.md §3, §5). Rule: both readings of a record's tail are taken; its kind
// decides later which of them means something.
#include "checksum.h"
#include "file.h"
#include "thresholds.h"

namespace oracle {

Seal record_seal(Bytes record) {
    if (integer64(record, 0) == 0) return Seal::kEmpty;
    return crc32c(record.subspan(0, 8), record.subspan(12, 52)) == integer32(record, 8) ? Seal::kFits
                                                                                        : Seal::kTorn;
}

int device_of(u8 byte) {
    return byte < kPinnedDevices ? byte : -1;
}

Event decode_record(Bytes record, u64 offset) {
    Event event;
    event.ticket = integer64(record, 0) - 1;
    event.kind = integer8(record, 12);
    event.flags = integer8(record, 13);
    event.thread = integer16(record, 14);
    event.time = integer64(record, 16);
    event.address = integer64(record, 24);
    event.size = integer64(record, 32);
    event.link = integer64(record, 40);
    event.extra = integer64(record, 48);
    event.extra16 = integer16(record, 56);
    event.allocated_bytes = integer40(record, 48) * thresholds::kGranuleBytes;
    event.reserved_bytes = integer40(record, 53) * thresholds::kGranuleBytes;
    event.device = device_of(integer8(record, 58));
    event.call = integer8(record, 59);
    event.library = integer16(record, 60);
    event.code = integer16(record, 62);
    event.offset = offset;
    return event;
}

Entry decode_entry(Bytes bytes, u64 offset) {
    Entry entry;
    u64 state = integer64(bytes, 0);
    entry.last_ticket = (state >> 1) - 1;
    entry.live = (state & 1U) != 0;
    entry.check_fits = crc32c(bytes.subspan(8, 52)) == integer32(bytes, 60);
    entry.address = integer64(bytes, 8);
    entry.size = integer64(bytes, 16);
    entry.birth = integer64(bytes, 24);
    entry.site = integer64(bytes, 40);
    entry.step = integer32(bytes, 48);
    entry.phase = integer16(bytes, 52);
    entry.library = integer16(bytes, 54);
    auto object = integer8(bytes, 56);
    entry.object = object <= kGraphNode ? static_cast<Class>(object) : kNoClass;
    entry.device = device_of(integer8(bytes, 57));
    entry.call = integer8(bytes, 58);
    entry.flags = integer8(bytes, 59);
    entry.offset = offset;
    return entry;
}

}  // namespace oracle
