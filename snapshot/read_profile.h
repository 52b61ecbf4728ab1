// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler (Chrome's JSON, plain or compressed) to tables. The rule: one pass over the
// text in pieces; of each event only what concerns device memory is kept, and its numbers are exact.
#pragma once

#include <string>
#include <string_view>

#include "../replay/result.h"
#include "../replay/ring_file.h"
#include "profile.h"

namespace memsnap::snapshot {

// Errors: not_memsnap (no such trace, or one without events of device memory), corrupt (rule `json` or
// `gzip`: with the offset; rule `profile`: what an event cannot say), io.
Result<Profile> read_profile(const RingFile& file);
Result<Profile> read_profile(const std::string& path);

// Whether the first bytes may be such a file's: JSON's, or those of a compressed file.
bool looks_like_profile(std::string_view head);

}  // namespace memsnap::snapshot
