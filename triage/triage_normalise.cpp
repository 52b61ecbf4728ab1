// SPDX-License-Identifier: Apache-2.0
//
// One pass over the bytes, with a bounded look ahead for prefixes, escapes and markup.
#include "triage_normalise.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "triage_prefix.h"

namespace memsnap {
namespace {

constexpr size_t kLookAhead_bytes = 512;
constexpr size_t kEscape_most_bytes = 256;
constexpr char kEscape = '\x1b';

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

bool is_space(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte <= 0x20 || byte >= 0x7f;
}

// The end of a colour's parameters, `[1;31m`; 0: it is none.
size_t colour_length(std::string_view rest) {
    size_t at = 1;
    while (at < rest.size() && at < 16 && (is_digit(rest[at]) || rest[at] == ';'))
        ++at;
    return at > 1 && at < rest.size() && rest[at] == 'm' ? at + 1 : 0;
}

// Behind the escape character: a control sequence, an operating system command, or a letter.
size_t sequence_length(std::string_view rest) {
    if (rest.empty()) return 0;
    const size_t most = std::min(rest.size(), kEscape_most_bytes);
    if (rest[0] == '[') {
        for (size_t at = 1; at < most; ++at) {
            const auto byte = static_cast<unsigned char>(rest[at]);
            if (byte >= 0x40 && byte <= 0x7e) return at + 1;
            if (byte < 0x20) return at;
        }
        return 1;
    }
    if (rest[0] == ']') {
        for (size_t at = 1; at < most; ++at) {
            if (rest[at] == '\a') return at + 1;
            if (rest[at] == kEscape && at + 1 < most && rest[at + 1] == '\\') return at + 2;
            if (rest[at] == '\n') return at;
        }
        return 1;
    }
    return 1;
}

struct Entity {
    std::string_view name;
    char letter;
};
constexpr Entity kEntities[] = {{"&gt;", '>'},    {"&lt;", '<'},   {"&amp;gt;", '>'}, {"&amp;lt;", '<'},
                                {"&quot;", '"'},  {"&#34;", '"'},  {"&#39;", '\''},   {"&#x27;", '\''},
                                {"&apos;", '\''}, {"&nbsp;", ' '}, {"&#160;", ' '},   {"&#10;", ' '},
                                {"&#13;", ' '},   {"&#x3D;", '='}, {"&#61;", '='},    {"&amp;", '&'}};
constexpr std::string_view kTags[] = {"br", "p",  "span",   "code", "pre", "div",
                                      "b",  "em", "strong", "td",   "tr"};

// An HTML tag that only lays out text; 0: it is none.
size_t tag_length(std::string_view rest) {
    size_t begin = 1;
    if (begin < rest.size() && rest[begin] == '/') ++begin;
    for (const std::string_view tag : kTags) {
        if (!rest.substr(begin).starts_with(tag)) continue;
        const size_t behind = begin + tag.size();
        const char next = behind < rest.size() ? rest[behind] : '\0';
        if (next != '>' && next != ' ' && next != '/') continue;
        const size_t end = rest.substr(0, kEscape_most_bytes).find('>', behind);
        return end == std::string_view::npos ? 0 : end + 1;
    }
    return 0;
}

struct Spelling {
    std::string_view text;
    char letter;
};
// Behind one or more backslashes, as JSON and shells spell them.
constexpr Spelling kSpellings[] = {{"x1b", kEscape}, {"x1B", kEscape}, {"033", kEscape}, {"\"", '"'},
                                   {"'", '\''},      {"/", '/'},       {"t", ' '}};

// \uXXXX; what is no ASCII counts as white space.
std::optional<Spelling> unicode(std::string_view behind) {
    constexpr size_t kLength = 5;
    if (!behind.starts_with('u') || behind.size() < kLength) return std::nullopt;
    unsigned point = 0;
    const auto [end, error] = std::from_chars(behind.data() + 1, behind.data() + kLength, point, 16);
    if (error != std::errc() || end != behind.data() + kLength) return std::nullopt;
    return Spelling{behind.substr(0, kLength), point < 0x80 ? static_cast<char>(point) : ' '};
}

}  // namespace

void LogNormaliser::take_units(std::string_view bytes) {
    for (size_t at = 0; unit_bytes_ == 2 && at < bytes.size(); ++at) {
        if ((bytes_read_ + at) % 2 == 0) pending_.push_back(bytes[at]);
    }
    if (unit_bytes_ == 1) pending_.append(bytes);
    const bool mark_is_there = bytes_read_ < 2 && bytes_read_ + bytes.size() >= 2;
    bytes_read_ += bytes.size();
    if (!mark_is_there || !pending_.starts_with("\xff\xfe")) return;
    unit_bytes_ = 2;
    for (size_t unit = 0; unit < pending_.size(); unit += 2)
        pending_[unit / 2] = pending_[unit];
    pending_.resize((pending_.size() + 1) / 2);
}

void LogNormaliser::emit(char letter, TightText& text) {
    if (is_space(letter)) {
        spaced_ = true;
        return;
    }
    text.add(letter, offset_bytes(at_), spaced_);
    spaced_ = false;
}

void LogNormaliser::begin_line(TightText& text) {
    const LinePrefix prefix = line_prefix(std::string_view(pending_).substr(at_, kLookAhead_bytes / 2));
    text.begin_run(line_, prefix.label);
    at_ += prefix.length_bytes;
    at_line_begin_ = false;
    spaced_ = true;
}

size_t LogNormaliser::escaped(std::string_view rest, TightText& text) {
    size_t slashes = 0;
    while (slashes < rest.size() && slashes < 8 && rest[slashes] == '\\')
        ++slashes;
    const std::string_view behind = rest.substr(slashes);
    if (behind.starts_with('n') || behind.starts_with('r')) {
        at_line_begin_ = true;
        spaced_ = true;
        return slashes + 1;
    }
    std::optional<Spelling> spelt = unicode(behind);
    for (const Spelling& one : kSpellings) {
        if (!spelt && behind.starts_with(one.text)) spelt = one;
    }
    if (!spelt) return 0;
    const size_t length = slashes + spelt->text.size();
    if (spelt->letter == kEscape) return length + sequence_length(rest.substr(length));
    emit(spelt->letter, text);
    return length;
}

size_t LogNormaliser::markup(std::string_view rest, TightText& text) {
    switch (rest[0]) {
        case kEscape:
            return 1 + sequence_length(rest.substr(1));
        case '[':
            return colour_length(rest);
        case '\\':
            return escaped(rest, text);
        case '<': {
            const size_t length = tag_length(rest);
            if (length != 0) spaced_ = true;
            return length;
        }
        case '&':
            for (const auto& [name, letter] : kEntities) {
                if (!rest.starts_with(name)) continue;
                emit(letter, text);
                return name.size();
            }
            return 0;
        default:
            return 0;
    }
}

void LogNormaliser::feed(std::string_view bytes, bool last, TightText& text) {
    take_units(bytes);
    const size_t look_ahead = last ? 0 : kLookAhead_bytes;
    const size_t end = pending_.size() > look_ahead ? pending_.size() - look_ahead : 0;
    while (at_ < end) {
        const char letter = pending_[at_];
        if (letter == '\n' || letter == '\r') {
            const bool one_end = letter == '\r' && at_ + 1 < pending_.size() && pending_[at_ + 1] == '\n';
            if (letter == '\n') ++line_;
            if (!one_end) at_line_begin_ = true;
            spaced_ = true;
            ++at_;
        } else if (at_line_begin_) {
            begin_line(text);
        } else if (const size_t length =
                       markup(std::string_view(pending_).substr(at_, kLookAhead_bytes), text);
                   length != 0) {
            at_ = std::min(at_ + length, pending_.size());
        } else {
            emit(letter, text);
            ++at_;
        }
    }
    if (!pending_.empty()) ends_with_line_ = pending_.back() == '\n';
    pending_.erase(0, std::min(at_, pending_.size()));
    base_ += at_;
    at_ = 0;
}

}  // namespace memsnap
