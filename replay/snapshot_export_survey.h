// SPDX-License-Identifier: Apache-2.0
//
// What must be known of a whole recording before its events can be told as PyTorch tells them: which calls
// made segments, and where blocks lay that no seen segment holds. The rule: it is what the ledger settled,
// looked at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_set>

#include "capture.h"
#include "ledger.h"
#include "result.h"

namespace memsnap {

struct ExportSurvey {
    // Birth tickets of the allocations, and mappings of other libraries, that PyTorch's allocator was seen to
    // cut blocks from.
    std::unordered_set<uint64_t> segment_births;
    std::unordered_set<uint64_t> foreign_mappings;  // of PyTorch's allocator, of memory of another process
    // Ranges of blocks outside every seen segment, begin to end; they do not overlap.
    std::array<std::map<uint64_t, uint64_t>, kDeviceCapacity> unseen;
    std::array<bool, kDeviceCapacity> used = {};
    bool tap_seen = false;
    uint64_t observation_count = 0;
    uint64_t begin_ticket = 0;  // records before it tell of what was there already

    int device_count() const;  // up to the last one used
    // Whether the object is memory of PyTorch's allocator: of its own mappings each is.
    bool is_segment(uint64_t birth_ticket, Object object, bool from_torch) const;
};

// Errors: corrupt, as replay() finds it.
Result<ExportSurvey> survey(const Capture& capture);

}  // namespace memsnap
