// SPDX-License-Identifier: Apache-2.0
//
// A snapshot pickle to tables. The rule: one pass over the file in pieces of bounded size; what a trace entry
// needs is kept, its dictionary is not; what contradicts itself is refused, with the place.
#pragma once

#include <string>

#include "../replay/result.h"
#include "../replay/ring_file.h"
#include "snapshot.h"

namespace memsnap::snapshot {

// Errors: not_memsnap (no pickle, or one of something else), corrupt (rule `pickle`: with opcode and offset;
// rule `snapshot`: what a snapshot cannot say), io.
Result<Snapshot> read_snapshot(const RingFile& file);
Result<Snapshot> read_snapshot(const std::string& path);

// Whether the first bytes may be a pickle's, of any protocol.
bool looks_like_pickle(std::string_view head);

}  // namespace memsnap::snapshot
