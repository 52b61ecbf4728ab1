// SPDX-License-Identifier: Apache-2.0
//
// The live table against the window (WIRE.md §5). Rule: redo what a dying thread left out, then the window's
// end must be the table.
#pragma once

#include "lives.h"

namespace oracle {

std::vector<Issue> check_table(const Recording& recording, const std::vector<Life>& lives);

}  // namespace oracle
