// SPDX-License-Identifier: Apache-2.0
//
// How much of a stack and of its names a file of names keeps (WIRE.md, "The sidecar"). The rule: whoever
// writes one, the recorder or an import, keeps as much.
#pragma once

#include <cstddef>

namespace memsnap {

// What WIRE.md allows in one entry: what is shown grows with it many times over. Of a longer text its
// last_part() is kept.
inline constexpr size_t kFrames_count_most = 255;
inline constexpr size_t kFileName_bytes_most = 1023;
inline constexpr size_t kFunctionName_bytes_most = 511;

}  // namespace memsnap
