// SPDX-License-Identifier: Apache-2.0
//
// A birth site in one line: the innermost frame of the user's own code, its caller, and where it lies in a
// module's call the line that called the model; or the operator that the backward pass was in. The rule:
// nothing that a terminal would obey, and never wider than asked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "shown_text.h"
#include "site_names.h"

namespace memsnap {

// What a label must say so that it differs from others: behind the site's own frame, and of its callers.
struct Apart {
    std::string inner, outer;
};

// Of frames of one sort. Empty: nothing is known of them.
std::string frames_label(const SiteFrames& frames, size_t columns_most, Letters letters = Letters::ascii,
                         const Apart& apart = {});

std::string site_label(SiteNames& sites, uint64_t token, size_t columns_most,
                       Letters letters = Letters::ascii, const Apart& apart = {});

// The line that called the model in whose forward the site lies; empty: in none.
std::string loop_label(SiteNames& sites, uint64_t token, Letters letters);

// One frame in full, of any width: `function (file:line)`, `function (object)`, `object+0x12`.
std::string frame_label(const SiteFrame& frame, Letters letters = Letters::ascii);

// Its function alone, or with its line.
std::string function_label(const SiteFrame& frame, Letters letters);
std::string line_label(const SiteFrame& frame, Letters letters);

// The frame that a label of Python frames begins with, by index.
size_t labelled_frame(const SiteFrames& python);

// Python frames: of the user's own code; of PyTorch, between a module and its forward.
bool is_own(const SiteFrame& frame);
bool is_module_call(const SiteFrame& frame);

// The outermost operator that native frames asked PyTorch for.
std::optional<std::string> operator_of(const SiteFrames& native);

}  // namespace memsnap
