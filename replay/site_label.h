// SPDX-License-Identifier: Apache-2.0
//
// A birth site in one line: the innermost frame of the user's own code and its caller, or the operator that
// the backward pass was in. The rule: printable ASCII, and never wider than asked.
#pragma once

#include <cstddef>
#include <string>

#include "site_names.h"

namespace memsnap {

// Of frames of one sort. Empty: nothing is known of them.
std::string frames_label(const SiteFrames& frames, size_t columns_most);

std::string site_label(SiteNames& sites, uint64_t token, size_t columns_most);

// One frame in full, of any width: `function (file:line)`, `function (object)`, `object+0x12`.
std::string frame_label(const SiteFrame& frame);

}  // namespace memsnap
