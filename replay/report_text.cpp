// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic only: a report must not depend on a locale or on how a double rounds.
#include "report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace memsnap {
namespace {

Wide floor_div(Wide value, Wide by) {
    const Wide quotient = value / by;
    return value % by < 0 ? quotient - 1 : quotient;
}

int64_t saturated(Wide value) {
    return static_cast<int64_t>(std::clamp(value, Wide{INT64_MIN}, Wide{INT64_MAX}));
}

}  // namespace

ReportSymbols::ReportSymbols(bool with_utf8)
    : tau(with_utf8 ? "τ" : "tau"),
      at_least(with_utf8 ? "≥" : ">="),
      at_most(with_utf8 ? "≤" : "<="),
      minus(with_utf8 ? "−" : "-"),
      utf8(with_utf8) {}

std::string hundredths_text(int64_t value) {
    const bool negative = value < 0;
    const uint64_t size =
        negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return fmt::format("{}{}.{:02}", negative ? "-" : "", size / 100, size % 100);
}

std::string signed_text(int64_t value, const ReportSymbols& symbols) {
    std::string text = hundredths_text(value);
    if (text.starts_with('-')) text.replace(0, 1, symbols.minus);
    return text;
}

bool is_next_to_nothing(Wide bytes) {
    constexpr int64_t kTelling_hundredths = 10;
    return bytes != 0 && hundredths(bytes < 0 ? -bytes : bytes) < kTelling_hundredths;
}

std::string amount_text(Wide bytes, const ReportSymbols& symbols) {
    if (bytes != 0 && !is_next_to_nothing(bytes)) return signed_text(hundredths(bytes), symbols) + " GiB";
    return std::string(bytes < 0 ? symbols.minus : "") + wide_size_text(bytes < 0 ? -bytes : bytes);
}

std::string size_text(uint64_t bytes) {
    struct Unit {
        unsigned shift;
        std::string_view name;
    };
    for (const Unit unit : {Unit{30, "GiB"}, Unit{20, "MiB"}, Unit{10, "KiB"}}) {
        if (bytes < uint64_t{1} << unit.shift) continue;
        const Wide scaled =
            floor_div(Wide{bytes} * 100 + (Wide{1} << (unit.shift - 1)), Wide{1} << unit.shift);
        return hundredths_text(saturated(scaled)) + ' ' + std::string(unit.name);
    }
    return fmt::format("{} B", bytes);
}

std::string wide_size_text(Wide bytes) {
    return size_text(static_cast<uint64_t>(std::clamp(bytes, Wide{0}, Wide{UINT64_MAX})));
}

int64_t hundredths(Wide bytes, Wide unit_bytes) {
    return saturated(floor_div(bytes * 100 + unit_bytes / 2, unit_bytes));
}

std::vector<int64_t> hundredths_of_parts(const std::vector<Wide>& parts_bytes) {
    if (parts_bytes.empty()) return {};
    // The first part also stands in sentences, so it is rounded as it is there.
    std::vector<int64_t> rounded = {hundredths(parts_bytes.front())};
    std::vector<size_t> by_remainder(parts_bytes.size() - 1);
    std::iota(by_remainder.begin(), by_remainder.end(), size_t{1});
    Wide sum = parts_bytes.front();
    int64_t given = rounded.front();
    for (const size_t index : by_remainder) {
        sum += parts_bytes[index];
        rounded.push_back(saturated(floor_div(parts_bytes[index] * 100, kGiB_bytes)));
        given += rounded.back();
    }
    const auto remainder = [&](size_t index) {
        const Wide scaled = parts_bytes[index] * 100;
        return scaled - floor_div(scaled, kGiB_bytes) * kGiB_bytes;
    };
    std::ranges::stable_sort(by_remainder, std::greater{}, remainder);
    for (const size_t index : by_remainder) {
        if (given >= hundredths(sum)) break;
        ++rounded[index];
        ++given;
    }
    return rounded;
}

std::string duration_text(uint64_t duration_ns) {
    constexpr uint64_t kSecond_ns = 1'000'000'000, kMilli_ns = 1'000'000, kMicro_ns = 1'000;
    const auto decimals = [&](uint64_t unit_ns, std::string_view unit) {
        return fmt::format("{}.{:02} {}", duration_ns / unit_ns, duration_ns % unit_ns / (unit_ns / 100),
                           unit);
    };
    const uint64_t seconds = duration_ns / kSecond_ns;
    if (seconds >= 3600) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
    if (seconds >= 60) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
    if (seconds != 0) return decimals(kSecond_ns, "s");
    if (duration_ns >= kMilli_ns) return decimals(kMilli_ns, "ms");
    if (duration_ns >= kMicro_ns) return decimals(kMicro_ns, "us");
    return fmt::format("{} ns", duration_ns);
}

std::string bar(uint64_t part, uint64_t whole, unsigned columns, bool utf8) {
    if (whole == 0 || part == 0) return {};
    const Wide eighths = std::max(Wide{1}, std::min(Wide{part}, Wide{whole}) * columns * 8 / whole);
    std::string text;
    for (Wide cell = 0; cell < eighths / 8; ++cell)
        text += utf8 ? "█" : "#";
    constexpr std::string_view kPartial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto rest = static_cast<unsigned>(eighths % 8);
    if (utf8) {
        text += kPartial[rest];
    } else if (rest >= 4 || text.empty()) {
        text += '#';
    }
    return text;
}

std::string grouped(uint64_t value) {
    const std::string digits = fmt::format("{}", value);
    std::string text;
    for (size_t at = 0; at < digits.size(); ++at) {
        if (at != 0 && (digits.size() - at) % 3 == 0) text += ',';
        text += digits[at];
    }
    return text;
}

std::string counted(uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

}  // namespace memsnap
