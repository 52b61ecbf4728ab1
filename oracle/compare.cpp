// SPDX-License-Identifier: Apache-2.0
//
// A receipt against its ring. Rule: every member of either side counts; an unknown or missing one is a
// difference, and the receipt's digests must be those of its own text. `names` and
// `references` tell nothing that a ring could contradict.
#include <rapidjson/document.h>

#include "examine.h"
#include "references.h"

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
    return Json(std::move(members));
}

std::optional<Json> parse(std::string_view text) {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                   rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
    return document.HasParseError() ? std::nullopt : from_rapid(document, 0);
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

Json removed_fields() {
    return Json::Array{"addresses",    "file_names",  "host_name",   "job_key",
                       "module_names", "phase_names", "process_ids", "ring_id",
                       "stack_tokens", "thread_ids",  "user_name"};
}

Json without(const Json& receipt, std::initializer_list<const char*> names) {
    auto members = *receipt.object();
    for (const char* name : names)
        members.erase(name);
    return members;
}

}  // namespace

Expected<std::optional<Difference>> compare(std::string_view text, Bytes ring, const Options& options) {
    auto receipt = parse(text);
    if (!receipt || receipt->object() == nullptr)
        return Difference{"", "a receipt", "is no JSON of integers and words"};
    auto body = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
    if (body != receipt->canonical()) return Difference{"", "canonical text", "is not canonical"};
    // The incident to look at is the receipt's own.
    auto looked_at = options;
    const auto* ticket = (*receipt)["evidence"]["failure"]["ticket"].number();
    bool names_failure = ticket != nullptr && *ticket >= 0 && *ticket < kNoTicket;
    if (names_failure) looked_at.choice.ticket = static_cast<u64>(*ticket);
    auto result = examine(ring, looked_at, (*receipt)["dictionary"]);
    if (!result && result.error().exit_code == kExitUsage && names_failure)
        return Difference{"evidence.failure.ticket", "no such failure", digits(*ticket)};
    if (!result) return std::unexpected(result.error());

    auto expected = *result->document.object();
    expected["schema"] = "memsnap.receipt.v1";
    expected["times"] = result->times;
    expected["removed_fields"] = removed_fields();
    // The members first, the digests last: a digest only says that something differs.
    expected.erase("digest");
    if (auto difference =
            first_difference("", expected, without(*receipt, {"digest", "names", "references"})))
        return difference;
    if (auto wrong = wrong_reference((*receipt)["references"])) return wrong;
    Json digest =
        Json::Object{{"algorithm", "sha256"},
                     {"evidence", sha256_hex((*receipt)["evidence"].canonical())},
                     {"receipt", sha256_hex(without(*receipt, {"digest", "times", "names"}).canonical())}};
    return first_difference("digest", digest, (*receipt)["digest"]);
}

}  // namespace oracle
