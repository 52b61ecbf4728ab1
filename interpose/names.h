// SPDX-License-Identifier: Apache-2.0
//
// The sidecar `<ring>.names`: the texts that the ring's local ids stand for. The rules: the ring goes on
// without it; a text is copied once, into space taken by one atomic add, without a lock or an allocation;
// what does not fit is counted.
#pragma once

#include <cstddef>

#include "process.h"
#include "wire_names.h"

namespace memsnap::recorder {

inline constexpr char kNamesSuffix[] = ".names";
inline constexpr uint64_t kNamesFile_bytes = 256 * 1024;

// Makes the sidecar of a ring that has its name. Without one recorder.names stays null.
void create_names_file(Recorder& recorder, bool any_file_system);

// Enters the text of a local id, once an id.
void intern(Recorder& recorder, wire::NameKind kind, uint64_t id, const char* text, size_t text_bytes);

}  // namespace memsnap::recorder
