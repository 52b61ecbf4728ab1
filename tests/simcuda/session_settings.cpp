// SPDX-License-Identifier: Apache-2.0
// Parsers of the session's texts. Rule: pure functions, text in, value or reason out.
#include "session_settings.h"

#include <array>
#include <charconv>
#include <utility>

namespace simcuda {
namespace {

constexpr double kMaxBytes = 1024.0 * 1024 * 1024 * 1024 * 1024;

std::unexpected<std::string> wrong(std::string_view what, std::string_view text) {
    return std::unexpected("'" + std::string(text) + "' is not " + std::string(what));
}

Parsed<uint64_t> parse_number(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return wrong("a whole number", text);
    return value;
}

std::pair<std::string_view, std::string_view> split_at(std::string_view text, char separator) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos) return {text, {}};
    return {text.substr(0, at), text.substr(at + 1)};
}

Parsed<int32_t> parse_device(std::string_view text) {
    const auto number = parse_number(text);
    if (!number || *number > 15) return wrong("a device number (0 to 15)", text);
    return static_cast<int32_t>(*number);
}

// Calls `parse_one` for each piece between commas.
template <typename T, typename ParseOne>
Parsed<std::vector<T>> parse_list(std::string_view text, ParseOne parse_one) {
    std::vector<T> result;
    while (!text.empty()) {
        const auto [piece, rest] = split_at(text, ',');
        auto one = parse_one(piece);
        if (!one) return std::unexpected(one.error());
        result.push_back(*one);
        text = rest;
    }
    return result;
}

Parsed<ExternalStep> parse_step(std::string_view text) {
    const auto [what, when] = split_at(text, '@');
    const auto [device_text, bytes_text] = split_at(what, ':');
    const auto device = parse_device(device_text);
    if (!device) return std::unexpected(device.error());
    const auto bytes = parse_bytes(bytes_text);
    if (!bytes) return std::unexpected(bytes.error());
    ExternalStep step{.device = *device, .bytes = *bytes};
    if (text.find('@') == std::string_view::npos) return step;
    const auto [unit, value_text] = split_at(when, '=');
    const auto value = parse_number(value_text);
    if (!value) return std::unexpected(value.error());
    if (unit != "allocs" && unit != "ms") return wrong("an instant (allocs=N or ms=N)", when);
    step.trigger = unit == "allocs" ? Trigger::after_attempts : Trigger::after_ms;
    step.trigger_value = *value;
    return step;
}

Parsed<Refusal> parse_attempt_range(std::string_view text, Refusal refusal) {
    const bool is_range = text.find('-') != std::string_view::npos;
    const auto [first_text, last_text] = split_at(text, '-');
    const auto first = parse_number(first_text);
    if (!first) return std::unexpected(first.error());
    refusal.first_attempt = *first;
    refusal.last_attempt = is_range ? UINT64_MAX : *first;
    if (last_text.empty()) return refusal;
    const auto last = parse_number(last_text);
    if (!last) return std::unexpected(last.error());
    refusal.last_attempt = *last;
    return refusal;
}

Parsed<Refusal> parse_refusal(std::string_view text) {
    const auto [device_text, condition] = split_at(text, '@');
    const auto device = parse_device(device_text);
    if (!device) return std::unexpected(device.error());
    Refusal refusal{.device = *device};
    const auto [unit, value] = split_at(condition, '=');
    if (unit == "allocs") return parse_attempt_range(value, refusal);
    if (unit != "bytes") return wrong("a refusal (DEVICE@allocs=N, N-M or N-, or DEVICE@bytes=SIZE)", text);
    const auto bytes = parse_bytes(value);
    if (!bytes) return std::unexpected(bytes.error());
    refusal.min_bytes = *bytes;
    return refusal;
}

}  // namespace

Parsed<uint64_t> parse_bytes(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, int>, 3> kUnits = {
        {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}}};
    std::string_view number = text;
    int shift = 0;
    for (const auto& [unit, unit_shift] : kUnits) {
        if (!text.ends_with(unit)) continue;
        number.remove_suffix(unit.size());
        shift = unit_shift;
    }
    double value = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
    const double bytes = value * static_cast<double>(uint64_t{1} << shift);
    const bool complete = error == std::errc{} && end == number.data() + number.size();
    const bool in_range = bytes >= 0 && bytes <= kMaxBytes;  // false for "nan"
    if (!complete || !in_range) return wrong("a size (such as 512, 300MiB or 1.5GiB)", text);
    return static_cast<uint64_t>(bytes);
}

Parsed<std::vector<ExternalStep>> parse_external(std::string_view text) {
    return parse_list<ExternalStep>(text, parse_step);
}

Parsed<std::vector<Refusal>> parse_refusals(std::string_view text) {
    return parse_list<Refusal>(text, parse_refusal);
}

}  // namespace simcuda
