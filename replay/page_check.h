// SPDX-License-Identifier: Apache-2.0
//
// The check behind the writing of a page. The rule: the parts are taken out of the text again, unpacked and
// decoded by code of their own, and held against what was put in; without names no text is in them that could
// be one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page_part.h"
#include "page_table.h"

namespace memsnap {

// What a part was made of.
struct MeantPart {
    std::string name;
    PageSide side = PageSide::only;
    size_t bytes = 0;
    std::string text;  // of a text that is no table
    // Of a table. One that was not counted is decoded, and not compared.
    uint64_t row_count = 0;
    std::vector<std::string> columns;
    std::vector<ColumnSum> sums;

    bool is_table() const { return text.empty(); }
};

// Empty: nothing is wrong.
std::string problem_of_page(std::string_view page, const std::vector<MeantPart>& meant, bool with_names);

// Whether a text may be a sentence of a page without names: tokens, words of closed lists, numbers and words
// as prose has them.
bool is_page_text(std::string_view text);

}  // namespace memsnap
