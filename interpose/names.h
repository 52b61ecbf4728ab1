// SPDX-License-Identifier: Apache-2.0
//
// The sidecar `<ring>.names`: what the ring's local ids and tokens stand for. The rules: the ring goes on
// without it; an entry is copied once, into space taken by one atomic add, without a lock or an allocation;
// what does not fit is counted.
#pragma once

#include <cstddef>

#include "process.h"
#include "wire_names.h"

namespace memsnap::recorder {

inline constexpr char kNamesSuffix[] = ".names";

// Makes the sidecar of a ring that has its name. Without one recorder.names stays null.
void create_names_file(Recorder& recorder, uint64_t file_bytes, bool any_file_system);

// Enters what an id stands for, once an id.
void intern(Recorder& recorder, wire::NameKind kind, uint64_t id, const void* payload, size_t payload_bytes);

// Where the unused rest of the file begins: behind what is used and what other threads may still add.
uint64_t unused_names_offset(const Recorder& recorder);

}  // namespace memsnap::recorder
