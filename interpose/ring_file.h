// SPDX-License-Identifier: Apache-2.0
//
// Makes the ring file and maps it. The rules: creating it must not kill or stall the job (no signal for a
// file over the limit, no later bus error for a full disk, no network file system), an existing file is never
// touched, and forked children do not inherit the mapping.
#pragma once

#include "process.h"

namespace memsnap::recorder {

// Takes over what the environment says now of the file to be made, and where it goes: `wanted` as it was
// told, or in the folder for temporary files.
void read_output_settings(Path& wanted);

// Fills `recorder` and the header; false, with g_process.create_trouble and create_error set, when no file
// could be made.
bool create_ring_file(Recorder& recorder);

// Side thread, of a process that is dormant. Each is false with errno when the file cannot be had, and
// nothing has changed then.
// Gives a file that is a header alone its whole size and its areas.
bool open_waiting_file(Recorder& recorder);
// The file of another recorder of this process, where the last one's is complete.
bool create_next_file(Recorder& recorder, const Recorder& previous);
// Gives a file in standby its ring, mapped at recorder.ring_place.
bool append_ring(Recorder& recorder);

// Memory that forked children do not inherit; null with errno.
void* private_memory(uint64_t size_bytes);

// Unchanged where the working folder cannot be told.
void make_path_absolute(Path& path);

// Whether a file system (statfs f_type) can hold a ring: no network, user-space or copy-on-write one.
bool file_system_suits(uint64_t type);

}  // namespace memsnap::recorder
