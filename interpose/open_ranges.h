// SPDX-License-Identifier: Apache-2.0
//
// The ranges that one thread has open. The rules: its own thread alone opens them; whoever takes a place's
// handle away closes the range, so that a range may end on another thread and no range ends twice; the words
// are atomic because other threads read them; ranges that nobody ends do not take all places.
#pragma once

#include <atomic>
#include <cstdint>

#include "local_names.h"
#include "python_frames.h"
#include "wire_marks.h"

namespace memsnap::recorder {

struct Range {
    NameIds names;
    wire::Family family = wire::Family::none;
    uint8_t depth = 0;            // open ranges of the families optimizer and range around it
    uint8_t domain = 0;           // of NVTX
    bool pushed = false;          // ends with its domain's next pop
    bool silent = false;          // left out: nothing of it is recorded
    bool async = false;           // ends at any time, on any thread, or never
    bool collection_off = false;  // an optimizer's: what the step that it ends says

    bool labels() const { return !silent && wire::labels_births(family); }
    bool bounds() const { return !silent && wire::ends_in_boundary(family); }

    uint64_t pack() const {
        return names.pack() | uint64_t{static_cast<uint8_t>(family)} << 32 | uint64_t{depth} << 40 |
               uint64_t{domain} << 48 | uint64_t{pushed} << 56 | uint64_t{silent} << 57 |
               uint64_t{async} << 58 | uint64_t{collection_off} << 59;
    }
    static Range unpack(uint64_t word) {
        Range range;
        range.names = {static_cast<uint16_t>(word >> 16), static_cast<uint16_t>(word), false};
        range.family = static_cast<wire::Family>(word >> 32 & 0xff);
        range.depth = static_cast<uint8_t>(word >> 40);
        range.domain = static_cast<uint8_t>(word >> 48);
        range.pushed = (word >> 56 & 1) != 0;
        range.silent = (word >> 57 & 1) != 0;
        range.async = (word >> 58 & 1) != 0;
        range.collection_off = (word >> 59 & 1) != 0;
        return range;
    }
};

struct OpenRange {
    std::atomic<uint64_t> handle;  // stored last; greater in those opened later; 0: closed
    std::atomic<uint64_t> range;   // packed
    std::atomic<uint64_t> begin_ticket;
};

struct OpenRanges {
    static constexpr uint32_t kCapacity = 64;
    static constexpr uint32_t kAsyncCapacity = kCapacity / 2;
    static constexpr uint32_t kDomainCount = 256;

    std::atomic<uint32_t> count;                 // places in use, closed ones between them included
    uint32_t deeper_pushed_count[kDomainCount];  // open beyond them, by domain: their pops come first
    bool has_labelled;                           // a labelling range was ever opened here
    std::atomic<uint32_t> labelling_count;
    OpenRange places[kCapacity];

    Range range(uint32_t place) const {
        return Range::unpack(places[place].range.load(std::memory_order_relaxed));
    }
    bool is_open(uint32_t place) const { return places[place].handle.load(std::memory_order_acquire) != 0; }
};

// The range of the outermost module call.
struct ModuleRange {
    bool open;
    ModuleCall call;
    NameIds names;
    uint64_t begin_ticket;
};

}  // namespace memsnap::recorder
