// SPDX-License-Identifier: Apache-2.0
//
// What a program tells of a moment: marks, dimensions, categories of blocks, limits. The rule: each is one
// record of the calling thread.
#pragma once

#include "process.h"

namespace memsnap::recorder {

void write_mark(Recorder& recorder, const NameIds& names);
void write_note(Recorder& recorder, const char* dimension, size_t dimension_bytes, int64_t value);
void write_category(Recorder& recorder, int8_t device, uint64_t address, uint64_t size_bytes,
                    uint16_t category);
void write_cap(Recorder& recorder, int8_t device, uint64_t limit_bytes, uint16_t source);

}  // namespace memsnap::recorder
