// SPDX-License-Identifier: Apache-2.0
//
// Reading members of a parsed receipt. The rule: a member that is null, missing or of another type is not
// known; nothing is defaulted but counts and truth values, which a receipt always states.
#pragma once

#include <rapidjson/document.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "diff_side.h"
#include "json.h"

namespace memsnap {

// nullptr: missing or null.
const rapidjson::Value* find(const rapidjson::Value& from, std::initializer_list<const char*> names);

std::string text(const rapidjson::Value* value);  // empty: no text
bool truth(const rapidjson::Value* value);
std::optional<Wide> integer(const rapidjson::Value* value);
uint64_t count(const rapidjson::Value* value);
Amount derived(const rapidjson::Value* value);
Amount observed(const rapidjson::Value* value);

// A scalar of the receipt as it stands there.
Json scalar(const rapidjson::Value* value);

// Calls f(item) for each element of a list, never when it is not there.
template <class F>
void for_each(const rapidjson::Value* list, F&& f) {
    if (list == nullptr || !list->IsArray()) return;
    for (const rapidjson::Value& item : list->GetArray())
        f(item);
}

}  // namespace memsnap
