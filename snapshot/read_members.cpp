// SPDX-License-Identifier: Apache-2.0
//
// Values as what they must be. The rule: nothing is converted that Python would not take for the same: a
// truth value is no number, a number with a fraction is no size.
#include "read_members.h"

namespace memsnap::snapshot {

namespace {

constexpr int kDevicesMost = 128;  // PyTorch's own bound

}  // namespace

const char* noun_of(const Value& value) {
    switch (value.kind) {
        case Kind::none:
            return "None";
        case Kind::boolean:
            return "a truth value";
        case Kind::integer:
            return value.as_integer() < 0 ? "a negative number" : "a number";
        case Kind::large:
        case Kind::huge:
            return "a number too large";
        case Kind::real:
            return "a number with a fraction";
        case Kind::text:
            return "a text";
        case Kind::long_text:
            return "a text too long";
        case Kind::bytes:
            return "bytes";
        case Kind::set:
            return "a set";
        case Kind::pair:
        case Kind::tuple:
            return "a tuple";
        case Kind::list:
        case Kind::stack:
        case Kind::entries:
        case Kind::blocks:
        case Kind::segments:
        case Kind::annotations:
            return "a list";
        case Kind::dict:
        case Kind::open:
        case Kind::frame:
        case Kind::entry:
        case Kind::block:
        case Kind::segment:
        case Kind::annotation:
        case Kind::bad:
            return "a dictionary";
    }
    return "";
}

std::optional<uint64_t> as_size(const Value& value) {
    if (value.kind != Kind::integer || value.as_integer() < 0) return std::nullopt;
    return value.wide;
}

std::optional<uint64_t> as_address(const Value& value) {
    if (value.kind != Kind::integer && value.kind != Kind::large) return std::nullopt;
    return value.wide;
}

std::optional<uint16_t> as_pool(const Value& value) {
    if (value.kind == Kind::pair) return pool_number(value.low, value.wide);
    if (value.kind != Kind::tuple && value.kind != Kind::list) return std::nullopt;
    const auto items = value.items();
    if (items.size() != 2) return std::nullopt;
    const auto a = as_address(items[0]), b = as_address(items[1]);
    if (!a || !b) return std::nullopt;
    return pool_number(*a, *b);
}

void Members::take(std::span<const Value> pairs) {
    present_ = 0;
    problem_.reset();
    for (size_t at = 0; at + 1 < pairs.size(); at += 2) {
        const auto word = static_cast<TextId>(word_of(pairs[at]));
        if (word == 0 || word >= kMembersEnd) continue;
        values_[word] = pairs[at + 1];
        present_ |= uint64_t{1} << word;
    }
}

void Members::wrong(Word word, const char* wanted) {
    if (problem_) return;
    const std::string name(text_of(word));
    problem_ = Problem{
        name,
        has(word) ? std::string("is ") + noun_of(at(word)) + ", not " + wanted : std::string("is missing"),
        {}};
}

uint64_t Members::size(Word word) {
    const auto size = as_size(at(word));
    if (!size) wrong(word, "a number of bytes");
    return size.value_or(0);
}

std::optional<uint64_t> Members::optional_size(Word word) {
    if (!has(word)) return std::nullopt;
    return size(word);
}

uint64_t Members::address(Word word) {
    const auto address = as_address(at(word));
    if (!address) wrong(word, "an address");
    return address.value_or(0);
}

std::optional<uint64_t> Members::optional_address(Word word) {
    if (!has(word)) return std::nullopt;
    return address(word);
}

uint16_t Members::pool(Word word) {
    if (!has(word)) return kPoolUnknown;
    const auto pool = as_pool(at(word));
    if (!pool) wrong(word, "a pair of numbers");
    return pool.value_or(kPoolUnknown);
}

bool Members::truth(Word word) {
    if (!has(word)) return false;
    if (at(word).kind != Kind::boolean) wrong(word, "a truth value");
    return at(word).truth();
}

int Members::device() {
    const Value value = at(Word::device);
    if (value.kind == Kind::integer && value.as_integer() >= -1 && value.as_integer() < kDevicesMost)
        return static_cast<int>(value.as_integer());
    wrong(Word::device, "a device");
    return 0;
}

std::optional<int64_t> Members::time(Word word) {
    if (!has(word)) return std::nullopt;
    if (at(word).kind != Kind::integer) wrong(word, "a time");
    return at(word).as_integer();
}

TextId Members::text(Word word) {
    const Value value = at(word);
    if (value.kind == Kind::none) return 0;
    if (value.kind != Kind::text) wrong(word, "a text");
    return value.low;
}

uint32_t Members::line() {
    const Value value = at(Word::line);
    if (value.kind == Kind::none) return 0;
    if (value.kind != Kind::integer) wrong(Word::line, "a line");
    return value.as_integer() > 0 && value.as_integer() <= INT32_MAX ? static_cast<uint32_t>(value.wide) : 0;
}

}  // namespace memsnap::snapshot
