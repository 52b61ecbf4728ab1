// SPDX-License-Identifier: Apache-2.0
//
// What was there before the first entry of a device's trace. The rule: the trace is walked backwards from the
// file's own segments and blocks; an entry that cannot have led to the state behind it is skipped and
// counted, so that the entries that are left lead exactly to the file's state.
#pragma once

#include <cstdint>
#include <vector>

#include "snapshot.h"

namespace memsnap::snapshot {

// What an entry comes to.
enum class Part : uint8_t {
    skipped,
    plain,
    ends_at_once  // a free_requested whose free_completed nobody told, although the block is gone
};

// A size that the file tells, or a bound that the neighbours put to one.
struct BlockBound {
    uint64_t bytes = 0;
    bool exact = false;
};

// What the state behind an entry tells of it.
struct EntryFacts {
    uint64_t bound_bytes = 0;  // of an alloc
    bool exact = false;
    uint16_t pool = kPoolUnknown;  // that of its region, which entries of older releases do not tell
};

struct InitialBlock {
    uint64_t address = 0;
    BlockBound size;
    std::optional<uint64_t> requested_bytes;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
    StackId stack = 0;
    TextId user_metadata = 0;
    bool waiting = false;  // its free had been requested before the first entry
};

struct InitialSegment {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t stream = 0;
    uint16_t pool = kPoolUnknown;
    StackId stack = 0;
    bool expandable = false;
};

struct RolledBack {
    std::vector<Part> parts;               // by entry
    std::vector<EntryFacts> facts;         // by entry
    std::vector<InitialBlock> blocks;      // by address
    std::vector<InitialSegment> segments;  // by address
    uint64_t skipped_count = 0;
};

// `segments` are those of one device, by address; they do not overlap, and their blocks lie in them.
RolledBack roll_back(const std::vector<Segment>& segments, const std::vector<Block>& blocks,
                     const std::vector<TraceEntry>& trace);

}  // namespace memsnap::snapshot
