// SPDX-License-Identifier: Apache-2.0
//
// The canonical writer.
#include "json.h"

#include <utility>

namespace memsnap {
namespace {

std::string quoted(std::string_view text) {
    constexpr std::string_view kNamed = "\"\\\b\t\n\f\r";
    constexpr std::string_view kNames = "\"\\btnfr";
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const size_t named = kNamed.find(c);
        if (named != std::string_view::npos) {
            out.push_back('\\');
            out.push_back(kNames[named]);
        } else if (byte < 0x20) {
            out += "\\u00";
            out.push_back(kHex[byte >> 4]);
            out.push_back(kHex[byte & 15]);
        } else {
            out.push_back(c);
        }
    }
    out.push_back('"');
    return out;
}

}  // namespace

struct Json::Writer {
    std::string& out;

    void operator()(const std::string& scalar) const { out += scalar; }
    void operator()(const Array& array) const {
        out.push_back('[');
        bool first = true;
        for (const Json& item : array) {
            if (!std::exchange(first, false)) out.push_back(',');
            item.write(out);
        }
        out.push_back(']');
    }
    void operator()(const Object& object) const {
        out.push_back('{');
        bool first = true;
        for (const auto& [key, member] : object) {
            if (!std::exchange(first, false)) out.push_back(',');
            out += quoted(key);
            out.push_back(':');
            member.write(out);
        }
        out.push_back('}');
    }
};

Json::Json(bool value) : value_(std::string(value ? "true" : "false")) {}

Json::Json(Wide value) : value_(to_decimal(value)) {
    if (value > kExactLimit || value < -kExactLimit) value_ = quoted(to_decimal(value));
}

Json::Json(std::string_view value) : value_(quoted(value)) {}

Json Json::canonical(std::string text) {
    Json json;
    json.value_ = std::move(text);
    return json;
}

void Json::write(std::string& out) const {
    std::visit(Writer{out}, value_);
}

std::string Json::text() const {
    std::string out;
    write(out);
    return out;
}

}  // namespace memsnap
