// SPDX-License-Identifier: Apache-2.0
//
// One decoded record. The rule: fields keep the record's meaning by kind, read through the named accessors
// below; nothing is converted, rounded or guessed.
#pragma once

#include <cstdint>

#include "vocabulary.h"

namespace memsnap {

inline constexpr uint64_t kNoTicket = ~uint64_t{0};
inline constexpr int kDeviceCapacity = 32;
// The torch tap's: a pool without a number, a segment record of an older segment, a number of bytes that is
// not known.
inline constexpr uint16_t kPoolUnknown = 65535;
inline constexpr uint16_t kToldAgain = 1;
inline constexpr uint64_t kNotTold = ~uint64_t{0};

// Bits of Event::flags; the reader passes only bits this build knows.
enum EventFlag : uint8_t {
    kBirthFollows = 1,
    kNested = 2,     // the same fact as the call around it: counted once
    kFromTorch = 4,  // called by PyTorch's allocator library
    kTotals = 8,
    kCapturing = 16,
    kUnavailable = 32,
    kImported = 64,
};

struct Event {
    uint64_t ticket = 0;
    uint64_t time_counter = 0;  // raw; see Capture::nanoseconds
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t link = 0;
    uint64_t allocated_bytes = 0;  // totals of the device after the event, valid with kTotals
    uint64_t reserved_bytes = 0;
    uint64_t extra = 0;  // valid without kTotals
    uint16_t extra16 = 0;
    uint16_t thread = 0;
    uint16_t library = 0;
    uint16_t code = 0;
    Kind kind = Kind::none;
    Op op = Op::none;
    int8_t device = -1;
    uint8_t flags = 0;

    bool has(EventFlag flag) const { return (flags & flag) != 0; }

    // block_alloc, block_oom, birth, try_call, ok, initial, initial_segment
    uint64_t site() const { return link; }
    // block_free, free, free_fail; kNoTicket when the birth was never seen
    uint64_t birth_ticket() const { return link; }
    // fail, and operation: the first failed device call
    uint64_t call_ticket() const { return link; }
    // mem_info, device_sample; free also tap_oom
    uint64_t device_total_bytes() const { return size_bytes; }
    uint64_t device_free_bytes() const { return link; }
    // process_sample
    uint64_t own_process_bytes() const { return size_bytes; }
    uint64_t other_process_bytes() const { return link; }
    uint16_t other_process_count() const { return code; }
    // neighbour
    bool of_this_job() const { return code == 1; }
    // device_sample: 1 + the ordinal of the last boundary closed before it (0: none), and counter ticks since
    uint32_t boundary_before() const { return static_cast<uint32_t>(address); }
    uint64_t boundary_age_counter() const { return (address >> 32) << 20; }
    // operation
    uint64_t first_failed_call_bytes() const { return address; }
    uint64_t last_attempt_bytes() const { return size_bytes; }
    uint64_t last_observation_ticket() const { return extra; }
    uint16_t failed_call_count() const { return extra16; }
    // cap
    uint64_t limit_bytes() const { return link; }
    // phase_begin, phase_end, mark
    uint32_t exact_name() const { return static_cast<uint32_t>(link >> 32); }
    uint32_t folded_name() const { return static_cast<uint32_t>(link); }
    // phase_begin, phase_end
    RangeFamily family() const { return static_cast<RangeFamily>(code); }
    // step
    bool collection_off() const { return (code & 1) != 0; }
    bool implied() const { return (code & 2) != 0; }
    // birth, tap_*
    uint32_t birth_step() const { return static_cast<uint32_t>(extra); }
    uint16_t birth_phase() const { return extra16; }
    uint64_t stream() const { return extra; }
    uint16_t pool() const { return extra16; }
    // tap_segment_alloc, tap_segment_map: about a segment that is older than the record
    bool told_again() const {
        return code == kToldAgain && (kind == Kind::tap_segment_alloc || kind == Kind::tap_segment_map);
    }
    // tap_oom; kNotTold: not known. Its device_free_bytes() too.
    uint64_t requested_bytes() const { return address; }
};

// The allocator's word on all that it holds: with each block event, and where a source has told it of what
// was there from the beginning.
inline bool is_report(const Event& event) {
    const bool found = event.kind == Kind::initial || event.kind == Kind::initial_segment;
    return event.kind == Kind::block_alloc || event.kind == Kind::block_free ||
           event.kind == Kind::block_oom || (found && event.has(kTotals));
}

}  // namespace memsnap
