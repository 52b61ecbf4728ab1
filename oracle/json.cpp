// SPDX-License-Identifier: Apache-2.0
//
// Writes the canonical text. Rule: no white space, members by name, the shortest escapes of RFC 8785.
#include "json.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

namespace oracle {
namespace {

constexpr Int kExactLimit = Int{1} << 53;

void write_text(std::string_view text, std::string& out) {
    constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
    constexpr std::string_view kShort = "\"\\bfnrt";
    out.push_back('"');
    for (char c : text) {
        if (auto found = kPlain.find(c); found != std::string_view::npos) {
            out.push_back('\\');
            out.push_back(kShort[found]);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out.push_back(c);
        }
    }
    out.push_back('"');
}

}  // namespace

Json::Json(Int value) {
    if (value > kExactLimit || value < -kExactLimit) {
        value_ = digits(value);
    } else {
        value_ = value;
    }
}

const Json& Json::operator[](std::string_view name) const {
    static const Json null;
    const auto* members = object();
    if (members == nullptr) return null;
    auto found = members->find(name);
    return found == members->end() ? null : found->second;
}

void Json::write(std::string& out) const {
    if (is_null()) {
        out += "null";
    } else if (const auto* truth = std::get_if<bool>(&value_)) {
        out += *truth ? "true" : "false";
    } else if (const auto* integer = number()) {
        out += digits(*integer);
    } else if (const auto* string = text()) {
        write_text(*string, out);
    } else if (const auto* items = array()) {
        char before = '[';
        for (const auto& item : *items) {
            out.push_back(before);
            item.write(out);
            before = ',';
        }
        out += items->empty() ? "[]" : "]";
    } else {
        char before = '{';
        for (const auto& [name, member] : *object()) {
            out.push_back(before);
            write_text(name, out);
            out.push_back(':');
            member.write(out);
            before = ',';
        }
        out += object()->empty() ? "{}" : "}";
    }
}

std::string Json::canonical() const {
    std::string out;
    write(out);
    return out;
}

std::string sha256_hex(std::string_view text) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    std::string out;
    for (auto byte : hash)
        out += fmt::format("{:02x}", byte);
    return out;
}

}  // namespace oracle
