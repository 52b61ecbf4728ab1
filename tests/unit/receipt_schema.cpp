// SPDX-License-Identifier: Apache-2.0
//
// docs/receipt.schema.json and docs/job.schema.json are what the program's own checks describe, word for
// word: made from their shapes here, and compared.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "explain.h"
#include "job_json.h"
#include "json.h"
#include "receipt_inequality.h"
#include "receipt_shape.h"

using namespace memsnap;

namespace {

using Type = ReceiptShape::Type;

std::string json_text(std::string_view text) {
    return Json(text).text();
}

std::string list_of(Words words) {
    return Json(Json::Array(words.begin(), words.end())).text();
}

std::string pattern(const std::string& expression) {
    return "{\"type\":\"string\",\"pattern\":" + json_text(expression) + "}";
}

// An integer, or the digits of one that a double cannot hold.
std::string integer(const ReceiptShape& shape) {
    const Wide least = std::max(shape.least, -kExactLimit);
    const Wide most = std::min(shape.most, kExactLimit);
    const std::string plain =
        "{\"type\":\"integer\",\"minimum\":" + to_decimal(least) + ",\"maximum\":" + to_decimal(most) + "}";
    if (shape.least >= -kExactLimit && shape.most <= kExactLimit) return plain;
    const std::string sign = shape.least < -kExactLimit ? "-?" : "";
    return "{\"anyOf\":[" + plain + "," + pattern("^" + sign + "[1-9][0-9]{15,35}$") + "]}";
}

// What many members share is defined once.
bool is_number(const ReceiptShape& shape) {
    return shape.least == 0 && shape.most == Wide{UINT64_MAX};
}
bool is_wide(const ReceiptShape& shape) {
    return shape.least < INT64_MIN;
}
std::string reference(std::string_view name) {
    return "{\"$ref\":\"#/$defs/" + std::string(name) + "\"}";
}

std::string inequality_pattern() {
    std::string names;
    for (const std::string_view name : kTermNames)
        names += (names.empty() ? "" : "|") + std::string(name);
    const std::string term = "(" + names + ") -?[0-9]+";
    const std::string side = term + "(( [+-] " + term + ")+ = -?[0-9]+)?";
    const std::string clause = side + " (>=|<=|<|>) " + side;
    return "^(" + std::string(kUnsettled) + "|" + clause + "( and " + clause + ")*)$";
}

std::string digits_pattern(std::string_view prefix, size_t digits_count) {
    return "^" + std::string(prefix) + "[0-9a-f]{" + std::to_string(digits_count) + "}$";
}

std::string version_pattern() {
    const std::string number = "[0-9]{1," + std::to_string(kVersionNumberDigits_most) + "}";
    return "^" + number + "(\\." + number + "){1," + std::to_string(kVersionNumbers_most - 1) + "}$";
}

std::string schema(const ReceiptShape& shape, const std::string& indent);

std::string object(const std::vector<std::pair<std::string_view, const ReceiptShape*>>& properties,
                   const std::vector<std::string_view>& required, const std::string& indent) {
    const std::string inner = indent + "  ";
    std::string text =
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":" + list_of(required) +
        ",\"properties\":{";
    for (const auto& [name, shape] : properties) {
        text += text.ends_with('{') ? "\n" : ",\n";
        text += inner + json_text(name) + ": " + schema(*shape, inner);
    }
    return text + "\n" + indent + "}}";
}

std::string table(const ReceiptShape& shape, const std::string& indent) {
    const std::string inner = indent + "  ";
    std::string cells;
    for (const ReceiptShape& cell : shape.items)
        cells += (cells.empty() ? "\n" : ",\n") + inner + schema(cell, inner);
    const std::string count = std::to_string(shape.items.size());
    return "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"columns\",\"rows\"],"
           "\"properties\":{\"columns\":{\"const\":" +
           list_of(shape.words) +
           "},\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":false,\"minItems\":" +
           count + ",\"maxItems\":" + count + ",\"prefixItems\":[" + cells + "]}}}}";
}

std::string of_type(const ReceiptShape& shape, const std::string& indent) {
    std::vector<std::pair<std::string_view, const ReceiptShape*>> properties;
    std::vector<std::string_view> required;
    switch (shape.type) {
        case Type::object:
            for (const Member& member : shape.members) {
                properties.emplace_back(member.name, &member.shape);
                if (!member.optional) required.push_back(member.name);
            }
            return object(properties, required, indent);
        case Type::keyed:
            for (const std::string_view word : shape.words)
                properties.emplace_back(word, &shape.items.front());
            return object(properties, required, indent);
        case Type::list:
            return "{\"type\":\"array\",\"items\":" + schema(shape.items.front(), indent) + "}";
        case Type::table:
            return table(shape, indent);
        case Type::integer:
            if (is_number(shape)) return reference("number");
            return is_wide(shape) ? reference("wide") : integer(shape);
        case Type::boolean:
            return "{\"type\":\"boolean\"}";
        case Type::word:
            return "{\"enum\":" + list_of(shape.words) + "}";
        case Type::token:
            return pattern(digits_pattern(std::string(shape.prefix) + "-", kTokenDigits_count));
        case Type::version:
            return pattern(version_pattern());
        case Type::digest:
            return pattern(digits_pattern("", kDigestDigits_count));
        case Type::inequality:
            return reference("inequality");
        case Type::text:
            return "{\"type\":\"string\"}";
    }
    return {};
}

std::string schema(const ReceiptShape& shape, const std::string& indent) {
    const std::string text = of_type(shape, indent);
    return shape.nullable ? "{\"anyOf\":[{\"type\":\"null\"}," + text + "]}" : text;
}

std::string whole_schema(const ReceiptShape& shape, std::string_view title,
                         const std::string& more_definitions) {
    const std::string body = schema(shape, "");
    ReceiptShape number, wide;
    number.most = Wide{UINT64_MAX};
    wide.most = -(wide.least = -(Wide{1} << 100));
    const std::string definitions = "\"$defs\":{\n  \"number\": " + integer(number) +
                                    ",\n  \"wide\": " + integer(wide) + more_definitions + "},\n";
    return "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":" + json_text(title) +
           "," + definitions + body.substr(1) + "\n";
}

void check_published(const std::string& name, const std::string& expected) {
    std::ifstream in(std::string(MEMSNAP_DOCS) + "/" + name, std::ios::binary);
    const std::string published{std::istreambuf_iterator<char>(in), {}};
    if (published == expected) return;
    const auto made = std::filesystem::temp_directory_path() / name;
    std::ofstream(made, std::ios::binary) << expected;
    FAIL("docs/" << name << " is another schema; this program's is in " << made);
}

}  // namespace

TEST_CASE("the published schema is the shape that the program checks, with its vocabularies") {
    const std::string inequality = ",\n  \"inequality\": " + pattern(inequality_pattern());
    check_published("receipt.schema.json", whole_schema(receipt_shape(), "memsnap receipt", inequality));
}

TEST_CASE("the published schema of a job's receipt is the shape that the program checks") {
    check_published("job.schema.json", whole_schema(job_shape(), "memsnap job receipt", ""));
}
