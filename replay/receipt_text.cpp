// SPDX-License-Identifier: Apache-2.0
//
// Parsing without recursion, since the text may be anybody's; canonical text with members sorted.
#include "receipt_text.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <vector>

#include "digest.h"
#include "json.h"

namespace memsnap {
namespace {

void write(const JsonValue& value, std::string& out);

void write_members(const JsonValue& object, std::initializer_list<std::string_view> left_out,
                   std::string& out) {
    std::vector<const JsonValue::Member*> members;
    for (const auto& one : object.GetObject()) {
        if (std::ranges::find(left_out, text_of(one.name)) == left_out.end()) members.push_back(&one);
    }
    std::ranges::sort(members, {}, [](const JsonValue::Member* one) { return text_of(one->name); });
    out.push_back('{');
    for (const JsonValue::Member* one : members) {
        if (one != members.front()) out.push_back(',');
        Json(text_of(one->name)).write(out);
        out.push_back(':');
        write(one->value, out);
    }
    out.push_back('}');
}

void write(const JsonValue& value, std::string& out) {
    if (value.IsObject()) {
        write_members(value, {}, out);
    } else if (value.IsArray()) {
        out.push_back('[');
        for (const JsonValue& item : value.GetArray()) {
            if (&item != value.Begin()) out.push_back(',');
            write(item, out);
        }
        out.push_back(']');
    } else if (value.IsString()) {
        Json(text_of(value)).write(out);
    } else if (value.IsBool()) {
        Json(value.GetBool()).write(out);
    } else if (value.IsNull()) {
        Json().write(out);
    } else if (const auto integer = integer_of(value)) {
        out += to_decimal(*integer);
    } else {
        out += "number";  // no receipt has one, so what it says does not matter
    }
}

// Digits as to_decimal() prints them, of a number that a double cannot hold.
std::optional<Wide> integer_of_digits(std::string_view text) {
    const bool negative = text.starts_with('-');
    const std::string_view digits = text.substr(negative ? 1 : 0);
    constexpr size_t kDigits_most = 36;
    const bool number = !digits.empty() && digits.size() <= kDigits_most && digits.front() != '0' &&
                        digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) return std::nullopt;
    Wide value = 0;
    for (const char digit : digits)
        value = value * 10 + (digit - '0');
    if (value <= kExactLimit) return std::nullopt;
    return negative ? -value : value;
}

}  // namespace

std::string parse_json(std::string_view text, rapidjson::Document& document) {
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                                rapidjson::kParseValidateEncodingFlag;
    document.Parse<kFlags>(text.data(), text.size());
    if (!document.HasParseError()) return {};
    return fmt::format("not JSON at byte {}: {}", document.GetErrorOffset(),
                       rapidjson::GetParseError_En(document.GetParseError()));
}

std::string_view text_of(const JsonValue& string) {
    return {string.GetString(), string.GetStringLength()};
}

const JsonValue* member(const JsonValue& object, std::string_view name) {
    if (!object.IsObject()) return nullptr;
    for (const auto& one : object.GetObject()) {
        if (text_of(one.name) == name) return &one.value;
    }
    return nullptr;
}

std::optional<Wide> integer_of(const JsonValue& value) {
    if (value.IsString()) return integer_of_digits(text_of(value));
    std::optional<Wide> integer;
    if (value.IsInt64()) {
        integer = value.GetInt64();
    } else if (value.IsUint64()) {
        integer = value.GetUint64();
    }
    if (integer && (*integer > kExactLimit || *integer < -kExactLimit)) return std::nullopt;
    return integer;
}

std::string canonical_text(const JsonValue& value, std::initializer_list<std::string_view> left_out) {
    std::string out;
    if (value.IsObject()) {
        write_members(value, left_out, out);
    } else {
        write(value, out);
    }
    return out;
}

std::string evidence_digest(const JsonValue& receipt) {
    const JsonValue* const evidence = member(receipt, "evidence");
    return evidence == nullptr ? "" : sha256_hex(canonical_text(*evidence));
}

std::string receipt_digest(const JsonValue& receipt) {
    return sha256_hex(canonical_text(receipt, {"digest", "names", "times"}));
}

}  // namespace memsnap
