// SPDX-License-Identifier: Apache-2.0
//
// Bytes of any value as text for JSON. The rule: what is UTF-8 stays as it is, every other byte is \xNN.
#pragma once

#include <string>
#include <string_view>

namespace memsnap {

std::string utf8_text(std::string_view bytes);

}  // namespace memsnap
