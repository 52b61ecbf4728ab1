// SPDX-License-Identifier: Apache-2.0
//
// What is noted at the moment, as one number for the boundary table. The rules: equal notes give equal
// numbers, whatever their order and however they came about; the first 16 dimensions count.
#pragma once

#include "process.h"

namespace memsnap::recorder {

void note_dimension(Recorder& recorder, uint16_t name, int64_t value);

// 0: nothing was noted.
uint32_t noted_dimensions(const Recorder& recorder);

}  // namespace memsnap::recorder
