// SPDX-License-Identifier: Apache-2.0
//
// What the torch tap hands over of the allocator's own trace: one record a word, in the order in which the
// allocator says it. The rule: the caller holds the device's allocator lock, so nothing here waits, and what
// the tap says is written as it is.
#pragma once

#include "process.h"

namespace memsnap::recorder {

struct TapWord {
    wire::Kind kind;
    int8_t device;
    uint16_t pool;  // wire::kPoolUnknown
    uint16_t code;  // wire::kToldAgain
    uint64_t address;
    uint64_t size_bytes;
    uint64_t link;  // of a failure: device-free bytes
    uint64_t stream;
};

constexpr bool is_tap_kind(uint32_t kind) {
    return kind >= static_cast<uint32_t>(wire::Kind::tap_alloc) &&
           kind <= static_cast<uint32_t>(wire::Kind::tap_oom);
}

// Words of memory that is taken, and of failures, may be the first event of a process, as the reports that
// follow them may.
Start start_of_tap_word(wire::Kind kind);
void write_tap_word(Recorder& recorder, const TapWord& word);
// A program that fails all the time has its segments told again each second.
bool may_repeat_tap_words(const Recorder& recorder, uint32_t record_count);

// What became of the tap; kept until there is a recording.
void note_tap_state(wire::TapState state);
void show_tap_state(Recorder& recorder);

}  // namespace memsnap::recorder
