// SPDX-License-Identifier: Apache-2.0
//
// Members by their path.
#include "diff_members.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string_view>

namespace memsnap {

using rapidjson::Value;

namespace {

// Sums and differences of such numbers do not overflow.
constexpr size_t kIntegerDigits_count = 36;

}  // namespace

const Value* find(const Value& from, std::initializer_list<const char*> names) {
    const Value* at = &from;
    for (const char* name : names) {
        if (!at->IsObject()) return nullptr;
        const auto member = at->FindMember(name);
        if (member == at->MemberEnd() || member->value.IsNull()) return nullptr;
        at = &member->value;
    }
    return at;
}

std::string text(const Value* value) {
    return value != nullptr && value->IsString() ? std::string(value->GetString(), value->GetStringLength())
                                                 : std::string();
}

bool truth(const Value* value) {
    return value != nullptr && value->IsBool() && value->GetBool();
}

// Beyond 2^53 an integer is a string of its digits.
std::optional<Wide> integer(const Value* value) {
    if (value == nullptr) return std::nullopt;
    if (value->IsUint64()) return Wide{value->GetUint64()};
    if (value->IsInt64()) return Wide{value->GetInt64()};
    if (!value->IsString()) return std::nullopt;
    std::string_view digits(value->GetString(), value->GetStringLength());
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    const bool number = !digits.empty() && digits.size() <= kIntegerDigits_count &&
                        digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) return std::nullopt;
    Wide sum = 0;
    for (const char digit : digits)
        sum = sum * 10 + (digit - '0');
    return negative ? -sum : sum;
}

uint64_t count(const Value* value) {
    return static_cast<uint64_t>(integer(value).value_or(0));
}

Amount derived(const Value* value) {
    const auto number = integer(value);
    return number ? Amount::derived(*number) : Amount();
}

Amount observed(const Value* value) {
    const auto number = integer(value);
    return number ? Amount::observed(*number) : Amount();
}

Json scalar(const Value* value) {
    if (value == nullptr) return {};
    if (value->IsBool()) return value->GetBool();
    if (const auto number = integer(value)) return *number;
    return text(value);
}

std::string canonical(const Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace memsnap
