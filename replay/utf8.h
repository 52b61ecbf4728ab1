// SPDX-License-Identifier: Apache-2.0
//
// Bytes of any value as text. The rule: what is UTF-8 stays as it is, every other byte is \xNN.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memsnap {

// Bytes of the well-formed sequence that the text begins with, 0: it begins with none.
size_t utf8_sequence_bytes(std::string_view text);
// Of a well-formed sequence, as long as it is.
char32_t utf8_code_point(std::string_view sequence);

std::string utf8_text(std::string_view bytes);

// The last bytes of UTF-8, from a whole character on: of a long text the end tells more than the begin.
std::string_view last_part(std::string_view text, size_t bytes_most);

}  // namespace memsnap
