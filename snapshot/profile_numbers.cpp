// SPDX-License-Identifier: Apache-2.0
//
// Digits to integers.
#include "profile_numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace memsnap::snapshot {

namespace {

constexpr int kDecimals = 3;  // of a microsecond, down to a ns

template <class T>
std::optional<T> whole(std::string_view text) {
    T value = {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<int64_t> trace_integer(std::string_view text) {
    if (const auto value = whole<int64_t>(text)) return value;
    const auto unsigned_value = whole<uint64_t>(text);
    return unsigned_value ? std::optional(static_cast<int64_t>(*unsigned_value)) : std::nullopt;
}

std::optional<int64_t> trace_time_ns(std::string_view text) {
    if (text.find_first_of("eE") != text.npos) {
        const auto us = whole<double>(text);
        if (!us || !(std::fabs(*us) < 9e15)) return std::nullopt;
        return static_cast<int64_t>(*us * 1000);
    }
    const size_t point = text.find('.');
    const bool negative = text.starts_with('-');
    const auto us = whole<int64_t>(text.substr(0, point));
    if (!us || *us > std::numeric_limits<int64_t>::max() / 1000 - 1 ||
        *us < std::numeric_limits<int64_t>::min() / 1000 + 1)
        return std::nullopt;
    int64_t decimals_ns = 0;
    for (int place = 0; place < kDecimals; ++place) {
        const size_t at = point + 1 + static_cast<size_t>(place);
        const char digit = point != text.npos && at < text.size() ? text[at] : '0';
        if (digit < '0' || digit > '9') return std::nullopt;
        decimals_ns = decimals_ns * 10 + (digit - '0');
    }
    return *us * 1000 + (negative ? -decimals_ns : decimals_ns);
}

}  // namespace memsnap::snapshot
