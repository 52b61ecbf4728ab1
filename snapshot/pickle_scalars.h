// SPDX-License-Identifier: Apache-2.0
//
// Numbers and texts as the opcodes of old protocols spell them. The rule: what is not spelled as a writer
// would spell it is no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pickle_value.h"

namespace memsnap::snapshot {

template <class Number>
Number little_endian(const uint8_t* bytes) {
    Number number = 0;
    for (size_t i = 0; i < sizeof(Number); ++i)
        number = static_cast<Number>(number | static_cast<Number>(bytes[i]) << (8 * i));
    return number;
}

double big_endian_real(const uint8_t* bytes);

// Two's complement, least byte first; without bytes 0.
Value long_of_bytes(const uint8_t* bytes, size_t count);

// INT: `00` and `01` are the truth values.
std::optional<Value> int_of_text(std::string_view text);
// LONG: with or without an `L` behind it.
std::optional<Value> long_of_text(std::string_view text);
std::optional<Value> real_of_text(std::string_view text);

// STRING: a quoted text with Python's escapes.
std::optional<std::string> quoted_text(std::string_view text);
// UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX, as UTF-8.
std::optional<std::string> raw_unicode_text(std::string_view text);

}  // namespace memsnap::snapshot
