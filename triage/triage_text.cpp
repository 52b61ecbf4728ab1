// SPDX-License-Identifier: Apache-2.0
//
// Letters with their places; numbers as intervals, in integers.
#include "triage_text.h"

#include <algorithm>

namespace memsnap {
namespace {

// A log that names more writers than this is not one of a job; the others count as unnamed.
constexpr size_t kLabels_most = 65536;
// Of an integer, and of a number with its decimals: what 128 bits hold in any unit.
constexpr unsigned kIntegerDigits_most = 19;
constexpr unsigned kDigits_most = 21;
constexpr unsigned kDecimals_most = 6;
constexpr uint64_t kDevice_most = 4095;

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

// PyTorch's units are powers of 1024, whichever way they were spelt.
struct Unit {
    std::string_view name;
    unsigned shift;
};
constexpr Unit kUnits[] = {{"bytes", 0}, {"byte", 0}, {"kib", 10}, {"mib", 20}, {"gib", 30},
                           {"tib", 40},  {"pib", 50}, {"kb", 10},  {"mb", 20},  {"gb", 30},
                           {"tb", 40},   {"pb", 50},  {"b", 0}};

Wide power_of_ten(unsigned exponent) {
    Wide power = 1;
    for (; exponent > 0; --exponent)
        power *= 10;
    return power;
}

}  // namespace

struct LogCursor::Number {
    Wide digits = 0;  // without the point
    unsigned decimals = 0;
    unsigned shift = 0;
};

void TightText::begin_run(uint64_t line, const LogLabel& label) {
    const Run run{letters_.size(), line, label_id(label)};
    if (!runs_.empty() && runs_.back().begin == run.begin) {
        runs_.back() = run;
    } else {
        runs_.push_back(run);
    }
}

uint32_t TightText::label_id(const LogLabel& label) {
    if (!runs_.empty() && labels_[runs_.back().label] == label) return runs_.back().label;
    const auto found = label_ids_.find(label);
    if (found != label_ids_.end()) return found->second;
    if (labels_.size() == kLabels_most) return kNoLabel;
    const auto id = static_cast<uint32_t>(labels_.size());
    labels_.push_back(label);
    label_ids_.emplace(label, id);
    return id;
}

void TightText::drop_front(size_t count) {
    if (count == 0) return;
    letters_.erase(0, count);
    marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(count));
    size_t keep = 0;
    while (keep + 1 < runs_.size() && runs_[keep + 1].begin <= count)
        ++keep;
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(keep));
    for (Run& run : runs_)
        run.begin -= std::min(run.begin, count);
}

size_t TightText::run_index(size_t at) const {
    const auto after = std::ranges::upper_bound(runs_, at, {}, &Run::begin);
    return static_cast<size_t>(after - runs_.begin()) - 1;
}

std::string TightText::spaced(size_t begin, size_t end) const {
    std::string text;
    for (size_t at = begin; at < end; ++at) {
        if ((marks_[at] & 1) != 0 && at != begin) text.push_back(' ');
        text.push_back(letters_[at]);
    }
    return text;
}

LogCursor::LogCursor(const TightText& text, size_t at, LogHorizon* horizon)
    : text_(&text),
      horizon_(horizon),
      at_(at),
      end_(horizon != nullptr ? horizon->end : text.size()),
      run_(text.run_index(at)),
      run_end_(text.run_end(run_)),
      label_(text.runs()[run_].label) {}

void LogCursor::next() {
    if (at_ < end_) ++at_;
    while (at_ == run_end_ && at_ < end_ && run_ + 1 < text_->runs().size()) {
        const TightText::Run& run = text_->runs()[++run_];
        run_end_ = text_->run_end(run_);
        // A line without a label may be the rest of a wrapped one.
        const bool of_another = run.label != label_ && run.label != TightText::kNoLabel;
        at_ = of_another ? run_end_ : run.begin;
    }
    if (at_ < end_) return;
    at_ = end_;
    if (horizon_ != nullptr) horizon_->met = true;
}

bool LogCursor::take(std::string_view words) {
    LogCursor ahead = *this;
    for (const char letter : words) {
        if (lower(ahead.peek()) != letter) return false;
        ahead.next();
    }
    *this = ahead;
    return true;
}

std::optional<uint64_t> LogCursor::integer() {
    LogCursor ahead = *this;
    uint64_t value = 0;
    unsigned digits = 0;
    for (; is_digit(ahead.peek()); ahead.next()) {
        if (++digits > kIntegerDigits_most) return std::nullopt;
        value = value * 10 + static_cast<uint64_t>(ahead.peek() - '0');
    }
    if (digits == 0) return std::nullopt;
    *this = ahead;
    return value;
}

std::optional<int> LogCursor::device() {
    LogCursor ahead = *this;
    const auto number = ahead.integer();
    if (!number || *number > kDevice_most) return std::nullopt;
    *this = ahead;
    return static_cast<int>(*number);
}

std::optional<LogCursor::Number> LogCursor::number() {
    LogCursor ahead = *this;
    Number number;
    unsigned digits = 0;
    const auto read_digits = [&] {
        for (; is_digit(ahead.peek()); ahead.next()) {
            if (++digits > kDigits_most) return false;
            number.digits = number.digits * 10 + (ahead.peek() - '0');
        }
        return true;
    };
    if (!read_digits() || digits == 0) return std::nullopt;
    if (ahead.peek() == '.') {
        const unsigned before = digits;
        ahead.next();
        if (!read_digits()) return std::nullopt;
        number.decimals = digits - before;
        if (number.decimals == 0 || number.decimals > kDecimals_most) return std::nullopt;
    }
    for (const Unit& unit : kUnits) {
        if (!ahead.take(unit.name)) continue;
        number.shift = unit.shift;
        *this = ahead;
        return number;
    }
    return std::nullopt;
}

std::optional<Measure> LogCursor::size() {
    const std::optional<Number> read = number();
    if (!read) return std::nullopt;
    const Wide unit = Wide{1} << read->shift;
    if (read->shift == 0 && read->decimals == 0) {
        if (read->digits > Wide{UINT64_MAX}) return Measure{};
        return Measure::observed(static_cast<uint64_t>(read->digits));
    }
    // Half of the last printed place either way.
    const Wide parts = power_of_ten(read->decimals) * 2;
    const Wide low = std::max(Wide{0}, ((read->digits * 2 - 1) * unit + parts - 1) / parts);
    const Wide high = ((read->digits * 2 + 1) * unit) / parts;
    if (high > Wide{UINT64_MAX}) return Measure{};
    return Measure::between(static_cast<uint64_t>(low), static_cast<uint64_t>(high));
}

std::optional<Measure> LogCursor::cell() {
    const std::optional<Number> read = number();
    if (!read || read->decimals != 0) return std::nullopt;
    const Wide unit = Wide{1} << read->shift;
    const Wide low = read->digits * unit;
    const Wide high = low + unit - 1;
    if (high > Wide{UINT64_MAX}) return Measure{};
    if (low == high) return Measure::observed(static_cast<uint64_t>(low));
    return Measure::between(static_cast<uint64_t>(low), static_cast<uint64_t>(high));
}

bool stands_before(const TightText& text, size_t at, std::string_view words) {
    if (at < words.size()) return false;
    const std::string_view before = text.letters().substr(at - words.size(), words.size());
    return std::ranges::equal(before, words, {}, lower);
}

}  // namespace memsnap
