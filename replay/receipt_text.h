// SPDX-License-Identifier: Apache-2.0
//
// A receipt as parsed text, by another parser than what wrote it. The rule: integers are exact; one beyond
// 2^53 is a string of its digits and nothing else is.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>

#include "measure.h"

namespace memsnap {

using JsonValue = rapidjson::Value;

// Empty when the text is JSON, else where it stops being that.
std::string parse_json(std::string_view text, rapidjson::Document& document);

std::string_view text_of(const JsonValue& string);

// nullptr: not an object, or without that member.
const JsonValue* member(const JsonValue& object, std::string_view name);

// nullopt: no integer, or not written as one.
std::optional<Wide> integer_of(const JsonValue& value);

// RFC 8785. `left_out`: top members that do not count. The nesting must be bounded.
std::string canonical_text(const JsonValue& value, std::initializer_list<std::string_view> left_out = {});

// The digests that a receipt should state.
std::string evidence_digest(const JsonValue& receipt);
std::string receipt_digest(const JsonValue& receipt);

}  // namespace memsnap
