// SPDX-License-Identifier: Apache-2.0
//
// A JSON value and its canonical text (RFC 8785). The rule: no floating point; an integer that a double
// cannot hold exactly is a string of its digits; strings are ASCII, so key order is byte order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measure.h"

namespace memsnap {

// Of the integers that a double holds exactly.
inline constexpr Wide kExactLimit = Wide{1} << 53;

class Json {
  public:
    using Array = std::vector<Json>;
    using Object = std::map<std::string, Json, std::less<>>;

    Json() = default;  // null
    Json(bool value);
    Json(Wide value);
    Json(uint64_t value) : Json(Wide{value}) {}
    Json(int value) : Json(Wide{value}) {}
    Json(uint32_t value) : Json(Wide{value}) {}
    Json(std::string_view value);
    Json(const char* value) : Json(std::string_view(value)) {}
    Json(const std::string& value) : Json(std::string_view(value)) {}
    Json(Array value) : value_(std::move(value)) {}
    Json(Object value) : value_(std::move(value)) {}
    template <class T>
    Json(const std::optional<T>& value) {
        if (value) *this = Json(*value);
    }
    // Text that is canonical already: long tables are written without a value a cell.
    static Json canonical(std::string text);

    // Appends the canonical text.
    void write(std::string& out) const;
    std::string text() const;

  private:
    struct Writer;
    std::variant<std::string, Array, Object> value_ = std::string("null");  // a scalar is its canonical text
};

}  // namespace memsnap
