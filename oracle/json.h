// SPDX-License-Identifier: Apache-2.0
//
// A JSON document and its canonical text (RFC 8785). Rule: numbers are integers; one beyond 2^53 is a string
// of digits.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "numbers.h"

namespace oracle {

class Json {
  public:
    // Members are sorted by name: all names are ASCII, where bytes sort as UTF-16 does.
    using Object = std::map<std::string, Json, std::less<>>;
    using Array = std::vector<Json>;

    Json() = default;
    Json(bool value) : value_(value) {}
    Json(const char* text) : value_(std::string(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(Object members) : value_(std::move(members)) {}
    Json(Array items) : value_(std::move(items)) {}
    Json(Int value);
    Json(int value) : Json(Int{value}) {}
    Json(u32 value) : Json(Int{value}) {}
    Json(u64 value) : Json(Int{value}) {}
    template <typename T>
    Json(const std::optional<T>& value) {
        if (value) *this = Json(*value);
    }

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    const Object* object() const { return std::get_if<Object>(&value_); }
    const Array* array() const { return std::get_if<Array>(&value_); }
    const std::string* text() const { return std::get_if<std::string>(&value_); }
    const Int* number() const { return std::get_if<Int>(&value_); }
    /// The member of an object, null where there is none.
    const Json& operator[](std::string_view name) const;
    bool operator==(const Json&) const = default;

    std::string canonical() const;

  private:
    void write(std::string& out) const;
    std::variant<std::monostate, bool, Int, std::string, Array, Object> value_;
};

std::string sha256_hex(std::string_view text);

}  // namespace oracle
