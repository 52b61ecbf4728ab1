// SPDX-License-Identifier: Apache-2.0
//
// Reads and walks documents. Rule: what canonical text cannot hold is no document.
#include "difference.h"

#include <rapidjson/document.h>

namespace oracle {
namespace {

constexpr int kDeepest = 32;

// Nothing where the text holds what no receipt holds: fractions, two members of one name, deep nesting.
std::optional<Json> from_rapid(const rapidjson::Value& value, int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (value.IsNull()) return Json();
    if (value.IsBool()) return Json(value.GetBool());
    if (value.IsInt64()) return Json(Int{value.GetInt64()});
    if (value.IsUint64()) return Json(Int{value.GetUint64()});
    if (value.IsString()) return Json(std::string(value.GetString(), value.GetStringLength()));
    if (value.IsArray()) {
        Json::Array items;
        for (const auto& item : value.GetArray()) {
            auto converted = from_rapid(item, depth + 1);
            if (!converted) return std::nullopt;
            items.push_back(std::move(*converted));
        }
        return Json(std::move(items));
    }
    if (!value.IsObject()) return std::nullopt;
    Json::Object members;
    for (const auto& member : value.GetObject()) {
        auto converted = from_rapid(member.value, depth + 1);
        if (!converted || !members
                               .emplace(std::string(member.name.GetString(), member.name.GetStringLength()),
                                        std::move(*converted))
                               .second)
            return std::nullopt;
    }
    return std::optional<Json>(std::in_place, std::move(members));
}

}  // namespace

std::optional<Json> parse_document(std::string_view text) {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                   rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
    return document.HasParseError() ? std::nullopt : from_rapid(document, 0);
}

bool is_canonical(std::string_view text, const Json& document) {
    auto body = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
    return body == document.canonical();
}

std::optional<Difference> first_difference(const std::string& path, const Json& expected, const Json& found) {
    if (expected == found) return std::nullopt;
    const auto *wanted_members = expected.object(), *members = found.object();
    if (wanted_members != nullptr && members != nullptr) {
        auto inside = [&](const std::string& name) { return path.empty() ? name : path + '.' + name; };
        for (const auto& [name, value] : *wanted_members) {
            auto member = members->find(name);
            if (member == members->end()) return Difference{inside(name), value.canonical(), "missing"};
            if (auto difference = first_difference(inside(name), value, member->second)) return difference;
        }
        for (const auto& [name, value] : *members) {
            if (!wanted_members->contains(name))
                return Difference{inside(name), "no such field", value.canonical()};
        }
    }
    const auto *wanted_items = expected.array(), *items = found.array();
    if (wanted_items != nullptr && items != nullptr) {
        for (std::size_t i = 0; i < std::min(wanted_items->size(), items->size()); ++i) {
            if (auto difference =
                    first_difference(path + '[' + std::to_string(i) + ']', (*wanted_items)[i], (*items)[i]))
                return difference;
        }
        return Difference{path + " (length)", std::to_string(wanted_items->size()),
                          std::to_string(items->size())};
    }
    return Difference{path, expected.canonical(), found.canonical()};
}

Json without(const Json& document, std::initializer_list<const char*> names) {
    auto members = *document.object();
    for (const char* name : names)
        members.erase(name);
    return members;
}

}  // namespace oracle
