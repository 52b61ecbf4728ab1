// SPDX-License-Identifier: Apache-2.0
//
// What is live when a cut begins, as it will be stated. The rule: what the kept events touch stands for
// itself; of the rest, adjacent blocks of one site, step interval and phase may become one, full segments may
// become fillers, and other libraries' memory is one sum a library and side of the baseline.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cut_source.h"

namespace memsnap {

struct StatedBlock {
    uint64_t address = 0;  // in the recording; in a filler: as if the filler began there
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;  // kNoTicket: not known
    uint64_t site = 0;
    uint64_t count = 1;  // of adjacent blocks
    uint32_t step = 0;
    uint16_t phase = 0;
    bool deferred = false;  // freed, but the allocator waits for it
};

struct StatedMapping {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = 0;
    uint64_t count = 1;
};

// Memory that PyTorch's allocator got from the device.
struct StatedRegion {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = 0;
    Op op = Op::cudaMalloc;
    bool expandable = false;
    std::optional<uint64_t> stream;
    std::optional<uint16_t> pool;
    std::vector<StatedMapping> mappings;  // of an expandable one, by address
    std::vector<StatedBlock> blocks;      // by address
    uint64_t stands_for_count = 1;        // segments, of a filler
    bool filler = false;

    uint64_t end() const { return address + size_bytes; }
};

// Device memory of another library.
struct StatedForeign {
    uint64_t size_bytes = 0;
    uint64_t birth_ticket = kNoTicket;  // kNoTicket: before everything
    uint64_t address = 0;               // of one that stands for itself
    uint16_t library = 0;
    Op op = Op::cudaMalloc;
    uint64_t count = 1;
    bool alone = false;
};

struct CutState {
    std::vector<StatedRegion> regions;  // fillers first, then by address
    std::vector<StatedBlock> loose;     // in no segment that was seen; by address
    std::vector<StatedForeign> foreign;
    uint64_t active_bytes = 0;  // of live blocks
    uint64_t deferred_bytes = 0;
    uint32_t step_count = 0;         // steps ended
    uint32_t latest_birth_step = 0;  // the latest that a live object tells
};

CutState state_at(const CutSource& source, const CutChoice& choice, bool merge, uint64_t blocks_a_filler);

}  // namespace memsnap
