// SPDX-License-Identifier: Apache-2.0
//
// Paths into parsed JSON, and the walk over two of them.
#include "document.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>

namespace memsnap::differential {

namespace {

using Value = rapidjson::Value;

std::string_view view(const Value& text) {
    return {text.GetString(), text.GetStringLength()};
}

std::string printed(const Value* value) {
    if (value == nullptr) return "(missing)";
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    value->Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

const Value* member(const Value& object, std::string_view name) {
    if (!object.IsObject()) return nullptr;
    const auto found = object.FindMember(Value(name.data(), static_cast<rapidjson::SizeType>(name.size())));
    return found == object.MemberEnd() ? nullptr : &found->value;
}

const Value* item(const Value& list, std::string_view digits) {
    rapidjson::SizeType index = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const bool found = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
    return found && index < list.Size() ? &list[index] : nullptr;
}

std::string difference(const std::string& path, const Value* left, const Value* right) {
    const auto differs = [&] { return fmt::format("{}: {} / {}", path, printed(left), printed(right)); };
    if (left == nullptr || right == nullptr) return left == right ? "" : differs();
    if (left->IsObject() && right->IsObject()) {
        for (const auto& [name, value] : left->GetObject()) {
            const std::string below =
                difference(fmt::format("{}.{}", path, view(name)), &value, member(*right, view(name)));
            if (!below.empty()) return below;
        }
        for (const auto& [name, value] : right->GetObject()) {
            if (member(*left, view(name)) == nullptr)
                return difference(fmt::format("{}.{}", path, view(name)), nullptr, &value);
        }
        return "";
    }
    if (left->IsArray() && right->IsArray()) {
        const rapidjson::SizeType count = std::min(left->Size(), right->Size());
        for (rapidjson::SizeType i = 0; i < count; ++i) {
            const std::string below = difference(fmt::format("{}[{}]", path, i), &(*left)[i], &(*right)[i]);
            if (!below.empty()) return below;
        }
        return left->Size() == right->Size() ? "" : differs();
    }
    return printed(left) == printed(right) ? "" : differs();
}

}  // namespace

struct Document::Parsed {
    rapidjson::Document tree;

    const Value* at(std::string_view path) const {
        const Value* value = &tree;
        while (value != nullptr && !path.empty()) {
            const size_t dot = std::min(path.find('.'), path.size());
            const std::string_view name = path.substr(0, dot);
            value = value->IsArray() ? item(*value, name) : member(*value, name);
            path.remove_prefix(std::min(dot + 1, path.size()));
        }
        return value;
    }
};

Document::Document(std::string_view text) : parsed_(std::make_unique<Parsed>()) {
    parsed_->tree.Parse(text.data(), text.size());
}

Document::~Document() = default;

bool Document::valid() const {
    return !parsed_->tree.HasParseError() && parsed_->tree.IsObject();
}

std::optional<Integer> Document::number(std::string_view path) const {
    const Value* value = parsed_->at(path);
    if (value == nullptr) return std::nullopt;
    if (value->IsInt64()) return value->GetInt64();
    if (value->IsUint64()) return value->GetUint64();
    if (!value->IsString()) return std::nullopt;
    Integer number = 0;
    std::string_view digits = view(*value);
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    for (const char digit : digits) {
        if (digit < '0' || digit > '9') return std::nullopt;
        number = number * 10 + (digit - '0');
    }
    return negative ? -number : number;
}

std::optional<std::string> Document::word(std::string_view path) const {
    const Value* value = parsed_->at(path);
    if (value == nullptr || !value->IsString()) return std::nullopt;
    return std::string(view(*value));
}

bool Document::truth(std::string_view path) const {
    const Value* value = parsed_->at(path);
    return value != nullptr && value->IsTrue();
}

std::vector<std::string> Document::words(std::string_view path) const {
    std::vector<std::string> all;
    const Value* value = parsed_->at(path);
    if (value == nullptr || !value->IsArray()) return all;
    for (const Value& word : value->GetArray())
        all.emplace_back(view(word));
    return all;
}

bool Document::is_null(std::string_view path) const {
    const Value* value = parsed_->at(path);
    return value == nullptr || value->IsNull();
}

size_t Document::size(std::string_view path) const {
    const Value* value = parsed_->at(path);
    return value != nullptr && value->IsArray() ? value->Size() : 0;
}

std::string Document::text(std::string_view path) const {
    return printed(parsed_->at(path));
}

std::string first_difference(const Document& left, const Document& right,
                             const std::vector<std::string_view>& members) {
    for (const std::string_view name : members) {
        const std::string found =
            difference(std::string(name), left.parsed_->at(name), right.parsed_->at(name));
        if (!found.empty()) return found;
    }
    return "";
}

}  // namespace memsnap::differential
