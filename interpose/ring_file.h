// SPDX-License-Identifier: Apache-2.0
//
// Makes the ring file and maps it. The rules: creating it must not kill or stall the job (no signal for a
// file over the limit, no later bus error for a full disk, no network file system), an existing file is never
// touched, and forked children do not inherit the mapping.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// Fills `recorder` and the header; false, with g_process.create_trouble and create_error set, when no file
// could be made.
bool create_ring_file(Recorder& recorder);

// Where the areas lie for the given sizes; returns the size of the file.
uint64_t lay_out(uint64_t ring_bytes, uint32_t table_entry_count, uint32_t boundary_entry_count,
                 wire::Area areas[wire::kAreaCount]);

// Unchanged where the working folder cannot be told.
void make_path_absolute(Path& path);

// Whether a file system (statfs f_type) can hold a ring: no network, user-space or copy-on-write one.
bool file_system_suits(uint64_t type);

}  // namespace memsnap::recorder
