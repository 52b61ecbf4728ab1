// SPDX-License-Identifier: Apache-2.0
//
// Members by their path.
#include "diff_members.h"

#include "receipt_text.h"

namespace memsnap {

using rapidjson::Value;

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
    return value != nullptr && value->IsString() ? std::string(text_of(*value)) : std::string();
}

bool truth(const Value* value) {
    return value != nullptr && value->IsBool() && value->GetBool();
}

std::optional<Wide> integer(const Value* value) {
    return value == nullptr ? std::nullopt : integer_of(*value);
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

}  // namespace memsnap
