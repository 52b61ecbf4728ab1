// SPDX-License-Identifier: Apache-2.0
//
// Names of a job as a terminal or a file of lines may show them. The rule: nothing that moves the cursor,
// ends a line or turns the direction of text is shown as it is; widths are in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memsnap {

enum class Letters : uint8_t {
    ascii,
    utf8
};

// What may not be shown as it is: each of its bytes as \xNN.
std::string shown_text(std::string_view text, Letters letters);

// Of a shown text.
size_t columns_of(std::string_view shown);

// At most so many columns of a shown text; where it is cut it ends with `..`.
std::string cut_to_columns(std::string_view shown, size_t columns_most);

// The same with `..` in the middle: of a path the end tells most.
std::string cut_in_the_middle(std::string_view shown, size_t columns_most);

}  // namespace memsnap
