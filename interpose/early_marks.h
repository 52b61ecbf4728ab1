// SPDX-License-Identifier: Apache-2.0
//
// What is told before there is a recording: open ranges, notes and caps. The rules: nothing of it makes a
// file; a thread's ranges are written at its own first event, the rest at the first event of any thread; what
// finds no room is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "local_names.h"
#include "open_ranges.h"

namespace memsnap::recorder {

struct EarlyMark {
    enum class Kind : uint8_t {
        range,
        note,
        cap
    };
    enum State : uint32_t {
        kFree,
        kBusy,
        kTold
    };

    struct Content {
        Kind kind;
        int8_t device;    // cap
        uint16_t source;  // cap
        uint64_t value;   // range: detail; note: value; cap: bytes
        Range range;      // without names
    };

    std::atomic<uint32_t> state;
    // What others look at before they claim it, which keeps a mark of theirs from its owner for no moment.
    std::atomic<uint32_t> tid;     // of a range: its thread; 0: of no thread
    std::atomic<uint32_t> domain;  // of a pushed range: its domain, plus 1
    std::atomic<uint64_t> handle;  // in the order of telling; of a range: its own
    Content content;
    size_t text_bytes;
    char text[kMarkText_bytes];
};

// In the region that forked children see zeroed.
struct EarlyMarks {
    static constexpr uint32_t kCapacity = 64;

    std::atomic<uint32_t> count;
    std::atomic<uint32_t> dropped_count;
    EarlyMark places[kCapacity];
};

// Keep it until there is a recording. A note or cap takes the place of what was told of the same before.
void keep_early_range(uint64_t handle, const Range& range, const char* name, size_t name_bytes,
                      uint64_t detail);
void keep_early_note(const char* dimension, size_t dimension_bytes, int64_t value);
void keep_early_cap(int8_t device, uint64_t limit_bytes, uint16_t source);
// Forgets an open range, of whatever thread.
void forget_early_range(uint64_t handle);
// Forgets the calling thread's innermost range that was pushed in an NVTX domain.
void forget_early_push(uint8_t domain);

// At a thread's first event.
void write_early_marks(Recorder& recorder);

}  // namespace memsnap::recorder
