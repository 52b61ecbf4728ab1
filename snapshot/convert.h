// SPDX-License-Identifier: Apache-2.0
//
// A snapshot to a ring. docs/snapshots.md, "Import", has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../replay/result.h"
#include "ring_image.h"
#include "snapshot.h"

namespace memsnap::snapshot {

struct Converted {
    RingImage image;
    std::vector<std::string> notes;  // what was left out, a sentence each
};

// The note about ranges that the image left out; empty for none.
std::string left_out_ranges(uint64_t count);

// `id` as RingImage takes it; `card_bytes` is what a person states, for failures whose total the file does
// not tell. Gives the snapshot's traces back on the way. Errors: corrupt.
Result<Converted> convert(Snapshot snapshot, const std::array<uint8_t, 16>& id,
                          std::optional<uint64_t> card_bytes);

}  // namespace memsnap::snapshot
