// SPDX-License-Identifier: Apache-2.0
//
// What a block is for, as it was told (VERDICT.md §2). Rule: a block has the category told of it last; what
// was told of nothing is `unknown`.
#pragma once

#include <array>
#include <string_view>

#include "lives.h"

namespace oracle {

inline constexpr std::array<std::string_view, kCategories> kCategoryNames{
    "unknown", "parameter", "gradient", "optimizer_state", "buffer", "input", "activation"};

inline std::string_view category_name(Category category) {
    return kCategoryNames[static_cast<std::size_t>(category)];
}

/// The category of a block at an instant.
Category category_at(const Life& block, u64 ticket);
/// Fills in `told` of the blocks, once it is known when each of them ends.
void tell_categories(const Recording& recording, std::vector<Life>& lives);

}  // namespace oracle
