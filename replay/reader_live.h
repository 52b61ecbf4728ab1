// SPDX-License-Identifier: Apache-2.0
//
// A look at a recording as it is now, while somebody may write it. The rule: nothing of the ring is read but
// its newest records, and what a writer is just changing is left out; it is no error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture.h"

namespace memsnap {

// How far back the newest records go.
inline constexpr uint64_t kNewestRecords_count = 4096;

struct LiveFacts {
    Capture capture;                  // but for the ring: its window is empty
    std::vector<LiveObject> objects;  // of the live table, in no order
    std::vector<Event> newest;        // the last records that are whole, by ticket
};

// Errors: not_memsnap, corrupt, io; the latter too where the file was cut short meanwhile.
Result<LiveFacts> read_live(const std::string& path);

}  // namespace memsnap
