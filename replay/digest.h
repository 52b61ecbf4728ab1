// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of a text, in lower-case hexadecimal.
#pragma once

#include <string>
#include <string_view>

namespace memsnap {

std::string sha256_hex(std::string_view text);

}  // namespace memsnap
