// SPDX-License-Identifier: Apache-2.0
//
// Raw counters as nanoseconds (VERDICT.md §11). Rule: linear between the anchors around, rounded towards 0;
// beyond the ends by the first or the last two.
#pragma once

#include <optional>

#include "file.h"

namespace oracle {

std::optional<Int> monotonic_ns(const File& file, u64 counter);
std::optional<Int> realtime_ns(const File& file, u64 counter);

}  // namespace oracle
