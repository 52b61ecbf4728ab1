// SPDX-License-Identifier: Apache-2.0
//
// The check in its order: JSON, the closed shape, canonical form, the rules between members, the digests.
#include "receipt_check.h"

#include <algorithm>
#include <vector>

#include "receipt_rules.h"
#include "receipt_shape.h"
#include "receipt_text.h"

namespace memsnap {
namespace {

using Type = ReceiptShape::Type;

bool consists_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_hexadecimal(std::string_view text, size_t digits_count) {
    return text.size() == digits_count && consists_of(text, "0123456789abcdef");
}

bool is_token(std::string_view text, std::string_view prefix) {
    return text.starts_with(prefix) && text.substr(prefix.size()).starts_with('-') &&
           is_hexadecimal(text.substr(prefix.size() + 1), kTokenDigits_count);
}

// 2.14.1 or 13.0
bool is_version(std::string_view text) {
    for (size_t count = 1; count <= kVersionNumbers_most; ++count) {
        const size_t point = std::min(text.find('.'), text.size());
        const std::string_view digits = text.substr(0, point);
        if (digits.size() > kVersionNumberDigits_most || !consists_of(digits, "0123456789")) return false;
        if (point == text.size()) return count > 1;
        text.remove_prefix(point + 1);
    }
    return false;
}

// A second member of one name would hide behind the first.
bool is_first(std::string_view name, std::vector<std::string_view>& seen) {
    if (std::ranges::find(seen, name) != seen.end()) return false;
    seen.push_back(name);
    return true;
}

class ShapeCheck {
  public:
    std::string run(const JsonValue& value, const ReceiptShape& shape) {
        check(value, shape);
        return problem_;
    }

  private:
    void refuse(std::string_view what) {
        if (problem_.empty()) problem_ = path_ + (path_.empty() ? "" : ": ") + std::string(what);
    }

    // A part of the value under its own path.
    void check_part(std::string_view name, const JsonValue& value, const ReceiptShape& shape) {
        if (!problem_.empty()) return;
        const size_t length = path_.size();
        if (!path_.empty() && !name.starts_with('[')) path_ += '.';
        path_ += name;
        check(value, shape);
        path_.resize(length);
    }

    void check(const JsonValue& value, const ReceiptShape& shape) {
        if (value.IsNull() && shape.nullable) return;
        switch (shape.type) {
            case Type::object:
                return check_object(value, shape);
            case Type::keyed:
                return check_keyed(value, shape);
            case Type::list:
                return check_list(value, shape);
            case Type::table:
                return check_table(value, shape);
            case Type::integer:
                return check_integer(value, shape);
            case Type::boolean:
                if (!value.IsBool()) refuse("is not true or false");
                return;
            case Type::word:
            case Type::token:
            case Type::version:
            case Type::digest:
            case Type::inequality:
            case Type::text:
                return check_text(value, shape);
        }
    }

    void check_object(const JsonValue& value, const ReceiptShape& shape) {
        if (!value.IsObject()) return refuse("is not an object");
        std::vector<std::string_view> seen;
        for (const auto& one : value.GetObject()) {
            const auto known = std::ranges::find(shape.members, text_of(one.name), &Member::name);
            if (known == shape.members.end()) return refuse("has a member that no receipt has");
            if (!is_first(known->name, seen)) return refuse("has a member twice");
            check_part(known->name, one.value, known->shape);
        }
        for (const Member& needed : shape.members) {
            if (!needed.optional && member(value, needed.name) == nullptr)
                return refuse("lacks the member " + std::string(needed.name));
        }
    }

    void check_keyed(const JsonValue& value, const ReceiptShape& shape) {
        if (!value.IsObject()) return refuse("is not an object");
        std::vector<std::string_view> seen;
        for (const auto& one : value.GetObject()) {
            const auto known = std::ranges::find(shape.words, text_of(one.name));
            if (known == shape.words.end()) return refuse("has a member that no receipt has");
            if (!is_first(*known, seen)) return refuse("has a member twice");
            check_part(*known, one.value, shape.items.front());
        }
    }

    void check_list(const JsonValue& value, const ReceiptShape& shape) {
        if (!value.IsArray()) return refuse("is not a list");
        for (const JsonValue& item : value.GetArray())
            check_part("[]", item, shape.items.front());
    }

    void check_table(const JsonValue& value, const ReceiptShape& shape) {
        const JsonValue* const columns = member(value, "columns");
        const JsonValue* const rows = member(value, "rows");
        const bool table = columns != nullptr && columns->IsArray() && rows != nullptr && rows->IsArray() &&
                           value.MemberCount() == 2;
        if (!table) return refuse("is not a table");
        const bool named = std::ranges::equal(
            columns->GetArray(), shape.words,
            [](const JsonValue& a, std::string_view b) { return a.IsString() && text_of(a) == b; });
        if (!named) return refuse("has other columns");
        for (const JsonValue& row : rows->GetArray()) {
            if (!row.IsArray() || row.Size() != shape.items.size())
                return refuse("a row has not one cell a column");
            for (rapidjson::SizeType at = 0; at < row.Size(); ++at)
                check_part("rows[]", row[at], shape.items[at]);
        }
    }

    void check_integer(const JsonValue& value, const ReceiptShape& shape) {
        const auto integer = integer_of(value);
        if (!integer) return refuse("is not an integer as a receipt has it");
        if (*integer < shape.least || *integer > shape.most) refuse("is out of bounds");
    }

    void check_text(const JsonValue& value, const ReceiptShape& shape) {
        if (!value.IsString()) return refuse("is not a text");
        const std::string_view text = text_of(value);
        bool fits = false;
        switch (shape.type) {
            case Type::word:
                fits = std::ranges::find(shape.words, text) != shape.words.end();
                break;
            case Type::token:
                fits = is_token(text, shape.prefix);
                break;
            case Type::version:
                fits = is_version(text);
                break;
            case Type::digest:
                fits = is_hexadecimal(text, kDigestDigits_count);
                break;
            case Type::inequality:
                fits = true;  // its numbers are those of other members: receipt_rules.cpp
                break;
            case Type::text:
                fits = true;
                break;
            case Type::object:
            case Type::keyed:
            case Type::list:
            case Type::table:
            case Type::integer:
            case Type::boolean:
                break;
        }
        if (!fits) refuse("is a text that no receipt has there");
    }

    std::string path_;
    std::string problem_;
};

std::string wrong_digest(const JsonValue& receipt) {
    const JsonValue& stated = receipt["digest"];
    if (text_of(stated["evidence"]) != evidence_digest(receipt)) return "digest.evidence: does not fit";
    if (text_of(stated["receipt"]) != receipt_digest(receipt)) return "digest.receipt: does not fit";
    return {};
}

}  // namespace

std::string check_shape(const JsonValue& value, const ReceiptShape& shape) {
    return ShapeCheck().run(value, shape);
}

std::string check_receipt(std::string_view text) {
    rapidjson::Document receipt;
    std::string problem = parse_json(text, receipt);
    if (problem.empty()) problem = check_shape(receipt, receipt_shape());
    if (problem.empty() && canonical_text(receipt) != text) problem = "is not in canonical form";
    if (problem.empty()) problem = broken_receipt_rule(receipt);
    if (problem.empty()) problem = wrong_digest(receipt);
    return problem;
}

std::string check_references(const JsonValue& references) {
    const std::vector<Member>& members = receipt_shape().members;
    const auto part = std::ranges::find(members, std::string_view("references"), &Member::name);
    std::string problem = check_shape(references, part->shape);
    return problem.empty() ? repeated_reference(references) : problem;
}

}  // namespace memsnap
