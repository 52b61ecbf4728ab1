// SPDX-License-Identifier: Apache-2.0
//
// Whether a snapshot's segments can be those of one process. The rule: what contradicts itself is refused,
// with the place; whether the trace fits the segments is judged later, entry by entry.
#pragma once

#include "../replay/result.h"
#include "snapshot.h"

namespace memsnap::snapshot {

inline constexpr uint64_t kReserved_bytes_most = uint64_t{1} << 48;  // of a device; more fits into no record

// Errors: corrupt, rule `snapshot`, without the file's name.
Result<void> check_consistent(const Snapshot& snapshot);

}  // namespace memsnap::snapshot
