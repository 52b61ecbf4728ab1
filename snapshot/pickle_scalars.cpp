// SPDX-License-Identifier: Apache-2.0
//
// Spelled numbers and texts. The rule: a number of any length costs no more than its length.
#include "pickle_scalars.h"

#include <algorithm>
#include <charconv>

namespace memsnap::snapshot {

namespace {

std::optional<Value> decimal(std::string_view text) {
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.empty()) return Value::integer(0);
    uint64_t number = 0;
    if (digits.size() > 20 ||
        std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
        return Value{Kind::huge};
    if (!negative) return Value::unsigned_integer(number);
    if (number > uint64_t{1} << 63) return Value{Kind::huge};
    return Value::integer(static_cast<int64_t>(~number + 1));
}

std::optional<uint32_t> number_of(std::string_view digits, int base) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

// Surrogates too: Python writes file names that are no UTF-8 with them.
void append_utf8(std::string& text, uint32_t point) {
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else if (point < 0x800) {
        text += static_cast<char>(0xc0 | point >> 6);
        tail(0);
    } else if (point < 0x10000) {
        text += static_cast<char>(0xe0 | point >> 12);
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0 | point >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

// Letters that stand for one byte behind a backslash, and the bytes.
constexpr std::string_view kEscapes = "\\'\"abfnrtv";
constexpr std::string_view kEscaped = "\\'\"\a\b\f\n\r\t\v";

}  // namespace

double big_endian_real(const uint8_t* bytes) {
    uint64_t number = 0;
    for (int i = 0; i < 8; ++i)
        number = number << 8 | bytes[i];
    return std::bit_cast<double>(number);
}

Value long_of_bytes(const uint8_t* bytes, size_t count) {
    if (count == 0) return Value::integer(0);
    const bool negative = bytes[count - 1] >= 0x80;
    while (count > 9 && bytes[count - 1] == (negative ? 0xff : 0))
        --count;
    if (count > 9 || (count == 9 && bytes[8] != (negative ? 0xff : 0))) return {Kind::huge};
    uint64_t number = negative ? ~uint64_t{0} : 0;
    for (size_t i = std::min<size_t>(count, 8); i > 0; --i)
        number = number << 8 | bytes[i - 1];
    if (!negative) return Value::unsigned_integer(number);
    return number >> 63 == 1 ? Value::integer(static_cast<int64_t>(number)) : Value{Kind::huge};
}

std::optional<Value> int_of_text(std::string_view text) {
    if (text == "00" || text == "01") return Value::boolean(text == "01");
    return decimal(text);
}

std::optional<Value> long_of_text(std::string_view text) {
    if (text.ends_with('L')) text.remove_suffix(1);
    return decimal(text);
}

std::optional<Value> real_of_text(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Value::real(number);
}

std::optional<std::string> quoted_text(std::string_view text) {
    if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
        return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::string plain;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') {
            plain += text[at];
            continue;
        }
        if (++at == text.size()) return std::nullopt;
        const size_t known = kEscapes.find(text[at]);
        const bool octal = text[at] >= '0' && text[at] <= '7';
        if (known != std::string_view::npos) {
            plain += kEscaped[known];
        } else if (text[at] == 'x' || octal) {
            const size_t first = octal ? at : at + 1;
            size_t length = octal ? 1 : 2;
            while (octal && length < 3 && first + length < text.size() && text[first + length] >= '0' &&
                   text[first + length] <= '7')
                ++length;
            if (first + length > text.size()) return std::nullopt;
            const auto number = number_of(text.substr(first, length), octal ? 8 : 16);
            if (!number) return std::nullopt;
            plain += static_cast<char>(*number);
            at = first + length - 1;
        } else {
            plain += '\\';
            plain += text[at];
        }
    }
    return plain;
}

std::optional<std::string> raw_unicode_text(std::string_view text) {
    std::string plain;
    for (size_t at = 0; at < text.size(); ++at) {
        const bool escape =
            text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == 'u' || text[at + 1] == 'U');
        if (!escape) {
            append_utf8(plain, static_cast<uint8_t>(text[at]));
            continue;
        }
        const size_t length = text[at + 1] == 'u' ? 4 : 8;
        if (at + 2 + length > text.size()) return std::nullopt;
        const auto point = number_of(text.substr(at + 2, length), 16);
        if (!point || *point > 0x10ffff) return std::nullopt;
        append_utf8(plain, *point);
        at += 1 + length;
    }
    return plain;
}

}  // namespace memsnap::snapshot
