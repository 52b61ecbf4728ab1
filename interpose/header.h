// SPDX-License-Identifier: Apache-2.0
//
// The header's facts about the process: who it is, which job it belongs to, what its allocator was told. The
// rule: the magic is written last, so that a file which shows it has a complete header.
#pragma once

#include "text.h"
#include "wire.h"

namespace memsnap::recorder {

inline constexpr uint32_t kRecorderVersion = 100;  // 0.1.0

// Equal in all processes of one running kernel; 0 where it does not tell.
uint64_t read_host_key();

// The path MEMSNAP_OUT asks for, as it is written there: relative to the working folder, numbers not yet
// added.
void expand_output_path(Path& path);

void fill_header(wire::Header& header, const wire::Area areas[wire::kAreaCount], uint64_t file_bytes);
// Of the same process's next file: nothing is asked of the environment again.
void fill_next_header(wire::Header& header, const wire::Header& previous,
                      const wire::Area areas[wire::kAreaCount], uint64_t file_bytes);

}  // namespace memsnap::recorder
