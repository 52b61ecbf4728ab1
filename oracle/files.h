// SPDX-License-Identifier: Apache-2.0
//
// Files as the command line names them. Rule: only regular files are read, as copies; what somebody else
// named is printed with its control characters spelled.
#pragma once

#include "job.h"

namespace oracle {

std::string printable(std::string_view text);

std::optional<std::vector<std::byte>> read_file(const std::string& path);
/// A recording, its head read again after the copy, since it may still be written; and its sidecar.
std::optional<Copy> copy_recording(const std::string& path);
/// Nothing where the file is of another format. Errors: those of `read_identity`, and kExitIo.
Expected<std::optional<Identity>> read_head(const std::string& path);

Error unreadable(const std::string& path);

}  // namespace oracle
