// SPDX-License-Identifier: Apache-2.0
//
// Versions of what is recorded, told by files and by what the program itself asked; no CUDA call is made.
#pragma once

#include "process.h"

namespace memsnap::recorder {

extern std::atomic<uint32_t> g_driver_version;  // as the driver told the program; 0: not yet

// Side thread: fills the header's versions as soon as they can be known.
void note_versions(Recorder& recorder);

// Reads PyTorch's version.py: `__version__ = '2.14.1+cu130'` -> 21401, `cuda = '13.0'` -> 13000; 0: not told.
void parse_torch_versions(const char* text, uint32_t& torch_version, uint32_t& cudart_version);

}  // namespace memsnap::recorder
