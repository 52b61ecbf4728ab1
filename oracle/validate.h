// SPDX-License-Identifier: Apache-2.0
//
// Validation (VERDICT.md §12). Rule: what a lossless writer cannot have written is corruption as long as
// nothing was declared lost before it; later the same sight is only counted.
#pragma once

#include <map>
#include <string>

#include "table.h"

namespace oracle {

struct Region;

/// Blocks on ranges that are not free. Ends the blocks that a later block lies on.
std::vector<Issue> check_overlaps(std::vector<Life>& lives);
/// Reported totals against live blocks, given the rules that blocks break themselves.
std::vector<Issue> check_totals(const Recording& recording, const std::vector<Life>& lives,
                                const std::vector<Issue>& of_blocks);
/// Blocks against the regions they start in.
std::vector<Issue> check_block_regions(const std::vector<Life>& lives, const std::vector<Region>& regions);
/// Rules about single records.
std::vector<Issue> check_records(const Recording& recording);

using Tolerated = std::map<std::string, u64, std::less<>>;
/// Sorts the issues into corruption (the first of it) and what is tolerated.
Expected<Tolerated> judge(const File& file, std::vector<Issue> issues);

}  // namespace oracle
