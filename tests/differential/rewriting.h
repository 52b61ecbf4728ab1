// SPDX-License-Identifier: Apache-2.0
//
// Traces rewritten so that what a verdict rests on stays, or changes in a known way. The rule: the text alone
// is changed, word by word; nothing here knows how the trace was made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "random.h"

namespace memsnap::differential {

using Lines = std::vector<std::string>;

// Other addresses in the same order, other thread numbers, other library numbers in the same order.
Lines rename_everything(const Lines& lines, Random& random);
// Every number of bytes and every offset in an address region, times 2^shift.
Lines scale_bytes(const Lines& lines, unsigned shift);
// The lines of one device spread at random, in their order, over those before `end`.
Lines spread_device(const Lines& lines, int device, size_t end, Random& random);
// A segment, a block in it, and both gone again, before this line.
Lines insert_balanced_pair(const Lines& lines, size_t at, int device, uint64_t bytes, unsigned number);
Lines with_request(const Lines& lines, int64_t more_bytes);

// The names of the blocks that no line frees.
Lines live_blocks(const Lines& lines);
// The first line that begins with one of these words, else the number of lines.
size_t first_of(const Lines& lines, const std::vector<std::string_view>& verbs);

}  // namespace memsnap::differential
