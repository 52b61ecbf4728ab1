// SPDX-License-Identifier: Apache-2.0
//
// The inequalities of the rules, and on which side of each a document lies. The rule: a side counts only
// where the rules ask that inequality of these numbers, and only one unit from the bound.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "document.h"

namespace memsnap::differential {

struct Bound {
    std::string_view name;
    std::array<std::string_view, 2> needed;  // the two sides one unit apart that turn it over
};

struct Side {
    std::string_view name;
    std::string_view where;  // `below`: one unit less than the bound, `at`, `above`: one unit more
};

std::span<const Bound> bounds();
std::vector<Side> sides_of(const Document& document, std::string_view aim, int side);

}  // namespace memsnap::differential
