// SPDX-License-Identifier: Apache-2.0
//
// Whether a printed inequality is one: its grammar, its names, its numbers and that it holds. The rule: every
// number stands elsewhere in the receipt under the same name, so nothing can hide in the line.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "measure.h"

namespace memsnap {

inline constexpr std::string_view kTermNames[] = {"available",
                                                  "active",
                                                  "request",
                                                  "threshold",
                                                  "deficit",
                                                  "retained",
                                                  "retained_upper",
                                                  "removable_outside",
                                                  "removable_outside_upper",
                                                  "contribution_floor",
                                                  "largest_free_extent",
                                                  "fragmented_free"};

// The value of one of these names; nullopt: not known.
using TermValue = std::function<std::optional<Wide>(std::string_view)>;

bool is_inequality(std::string_view text, const TermValue& value_of);

}  // namespace memsnap
