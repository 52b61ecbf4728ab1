// SPDX-License-Identifier: Apache-2.0
//
// An event on its way into the ring, and its packed form. The rule: fields stay apart until they are packed
// into eight words by shifts, because writing a record byte by byte and reading it back in words stalls the
// processor for longer than all the rest of a block report takes.
#pragma once

#include <cstdint>
#include <cstring>

#include "wire.h"

namespace memsnap::recorder {

struct Event {
    wire::Kind kind = wire::Kind::none;
    uint8_t flags = 0;
    uint16_t thread = 0;
    uint64_t time = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t link = 0;
    uint64_t tail = 0;  // bytes 0..7 and 8..9 of the record's tail
    uint16_t tail16 = 0;
    int8_t device = -1;
    wire::Op op = wire::Op::none;
    uint16_t library = 0;
    uint16_t code = 0;
    uint32_t step = 0;   // of a birth, for its table entry
    uint16_t phase = 0;  // of a birth, for its table entry

    void set_totals(uint64_t allocated_bytes, uint64_t reserved_bytes) {
        uint64_t reserved = reserved_bytes / wire::kTotalsUnit_bytes;
        tail = (allocated_bytes / wire::kTotalsUnit_bytes & ((uint64_t{1} << 40) - 1)) | reserved << 40;
        tail16 = static_cast<uint16_t>(reserved >> 24);
        flags = static_cast<uint8_t>(flags | wire::kFlagTotals);
    }
    void set_extra(uint64_t extra, uint16_t extra16) {
        tail = extra;
        tail16 = extra16;
    }
};

// The eight words of a wire::Record.
struct PackedRecord {
    uint64_t words[8];

    uint64_t ticket() const { return words[0] - 1; }
    wire::Record unpack() const {
        wire::Record record;
        std::memcpy(&record, words, sizeof record);
        return record;
    }
};

// The eight words of a wire::LiveEntry, without its state and check.
struct PackedEntry {
    uint64_t words[8];
};

// Packs all but the check, which goes into the low half of word 1.
inline PackedRecord pack(const Event& event, uint64_t ticket) {
    return {
        {ticket + 1,
         static_cast<uint64_t>(event.kind) << 32 | uint64_t{event.flags} << 40 | uint64_t{event.thread} << 48,
         event.time, event.address, event.size, event.link, event.tail,
         uint64_t{event.tail16} | uint64_t{static_cast<uint8_t>(event.device)} << 16 |
             static_cast<uint64_t>(event.op) << 24 | uint64_t{event.library} << 32 |
             uint64_t{event.code} << 48}};
}

// The table entry of an object born by `event`, whose link is its site.
inline PackedEntry pack_birth(const Event& event, uint64_t ticket, wire::Object object) {
    return {{0, event.address, event.size, ticket, event.time, event.link,
             uint64_t{event.step} | uint64_t{event.phase} << 32 | uint64_t{event.library} << 48,
             static_cast<uint64_t>(object) | uint64_t{static_cast<uint8_t>(event.device)} << 8 |
                 static_cast<uint64_t>(event.op) << 16 | uint64_t{event.flags} << 24}};
}

}  // namespace memsnap::recorder
