// SPDX-License-Identifier: Apache-2.0
//
// Two documents, member by member. Rule: every member of either side counts; an unknown or missing one is a
// difference.
#pragma once

#include <string_view>

#include "json.h"

namespace oracle {

struct Difference {
    std::string path;
    std::string expected;  ///< by the oracle
    std::string found;     ///< in the receipt
};

/// Nothing where the text holds what no receipt holds: fractions, two members of one name, deep nesting.
std::optional<Json> parse_document(std::string_view text);
/// Whether the text is the document's canonical one; a line end behind it is no part of it.
bool is_canonical(std::string_view text, const Json& document);
std::optional<Difference> first_difference(const std::string& path, const Json& expected, const Json& found);
/// An object less some of its members.
Json without(const Json& document, std::initializer_list<const char*> names);

}  // namespace oracle
