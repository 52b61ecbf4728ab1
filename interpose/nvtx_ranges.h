// SPDX-License-Identifier: Apache-2.0
//
// Ranges and marks that programs and libraries tell NVTX of. The rules: ranges of the default domain that are
// pushed and popped are boundaries, all others label births; an operator's range, as torch writes one for
// each operation, is a label too; of a flood of ranges the outermost are kept and the rest is counted.
#pragma once

#include "nvtx_texts.h"
#include "process.h"

namespace memsnap::recorder::nvtx {

void mark(const Message& message);
void push(uint8_t domain, const Message& message);
void pop(uint8_t domain);
// 0: left out.
RangeId start(const Message& message);
void end(RangeId id);

}  // namespace memsnap::recorder::nvtx
