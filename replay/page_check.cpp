// SPDX-License-Identifier: Apache-2.0
//
// Parts of the finished text against what they were made of.
#include "page_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "diff_json.h"
#include "names.h"
#include "page_decode.h"
#include "page_words.h"
#include "receipt_check.h"
#include "receipt_text.h"
#include "snapshot_export_names.h"
#include "vocabulary.h"

namespace memsnap {
namespace {

#define MEMSNAP_WORD(name, ...) #name,
constexpr std::string_view kTableWords[] = {MEMSNAP_KINDS(MEMSNAP_WORD) MEMSNAP_OPS(
    MEMSNAP_WORD) MEMSNAP_OBJECTS(MEMSNAP_WORD) MEMSNAP_BEGIN_STATES(MEMSNAP_WORD)};
#undef MEMSNAP_WORD

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_closed_word(std::string_view text) {
    for (int list = 0; list <= static_cast<int>(Vocabulary::probe); ++list) {
        if (is_word(static_cast<Vocabulary>(list), text)) return true;
    }
    return std::ranges::find(kTableWords, text) != std::end(kTableWords);
}

bool is_library_token(std::string_view text) {
    constexpr std::string_view kKind = "library-";
    constexpr size_t kDigits = 16;
    return text.size() == kKind.size() + kDigits && text.starts_with(kKind) &&
           std::ranges::all_of(text.substr(kKind.size()),
                               [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// Bytes and counts, versions, percentages: digits and what stands between them.
bool is_numeral(std::string_view text) {
    return std::ranges::any_of(text, is_digit) && std::ranges::all_of(text, [](char c) {
               return is_digit(c) || c == '.' || c == ',' || c == '+' || c == '-' || c == '%' || c == ':';
           });
}

bool is_option(std::string_view text) {
    return text.starts_with("--") &&
           std::ranges::all_of(text.substr(2), [](char c) { return is_letter(c) || c == '-'; });
}

// As prose has it: letters, perhaps in parts.
bool is_prose(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return is_letter(c) || c == '-' || c == '\''; });
}

bool is_device(std::string_view text) {
    constexpr std::string_view kDevice = "cuda:";
    return text.starts_with(kDevice) && text.size() > kDevice.size() &&
           std::ranges::all_of(text.substr(kDevice.size()), is_digit);
}

// One word between two spaces, without the marks around it. Of the signs beyond ASCII only the sentences'
// own.
bool is_word_of_a_sentence(std::string_view text) {
    constexpr std::string_view kAround[] = {".", ",", ";", ":", "(", ")", "\"", "'",
                                            "=", "<", ">", "τ", "…", "−", "≤",  "≥"};
    for (bool found = true; found;) {
        found = false;
        for (const std::string_view mark : kAround) {
            if (text.starts_with(mark)) {
                text.remove_prefix(mark.size());
                found = true;
            } else if (text.ends_with(mark)) {
                text.remove_suffix(mark.size());
                found = true;
            }
        }
    }
    return text.empty() || is_numeral(text) || is_prose(text) || is_option(text) || is_device(text) ||
           is_closed_word(text) || is_exported_text(text) || is_library_token(text);
}

// Whether each text anywhere in a value is of a kind.
template <class Allowed>
bool all_texts(const JsonValue& value, const Allowed& allowed) {
    if (value.IsString()) return allowed(text_of(value));
    if (value.IsArray())
        return std::ranges::all_of(value.GetArray(),
                                   [&](const JsonValue& item) { return all_texts(item, allowed); });
    return !value.IsObject() || std::ranges::all_of(value.GetObject(), [&](const auto& one) {
        return all_texts(one.value, allowed);
    });
}

// Sentences are in two members, as the terminal writes them.
std::string problem_of_outline(const JsonValue& outline) {
    for (const auto& [key, value] : outline.GetObject()) {
        const std::string_view name = text_of(key);
        const bool told = name == "headline" || name == "notes";
        const bool allowed = all_texts(value, [&](std::string_view text) {
            return told ? is_page_text(text) : is_numeral(text) || is_option(text);
        });
        if (!allowed) return fmt::format("a text that may be a name in {}", name);
    }
    return {};
}

// A member of an entry of `names` that is no name.
bool is_nameless(std::string_view name, const JsonValue& value) {
    if (name == "token") {
        const std::string_view text = value.IsString() ? text_of(value) : "";
        return text.contains('-') && (is_exported_text(text) || is_library_token(text));
    }
    if (name == "word")
        return value.IsNull() || (value.IsString() && is_word(Vocabulary::phase_word, text_of(value)));
    if (name == "role") return value.IsString() && is_word(Vocabulary::library_role, text_of(value));
    if (name == "size_bytes") return integer_of(value).has_value();
    if (name == "frames")
        return value.IsArray() &&
               std::ranges::all_of(value.GetArray(), [](const JsonValue& place) { return place.IsUint64(); });
    const bool ordinal = name == "site" || name == "phase" || name == "library" || name == "dimension";
    return ordinal && value.IsUint64();
}

std::string problem_of_names(const JsonValue& names) {
    for (const auto& [list, entries] : names.GetObject()) {
        if (!entries.IsArray()) return fmt::format("{} is no list", text_of(list));
        for (const JsonValue& entry : entries.GetArray()) {
            if (!entry.IsObject()) return fmt::format("{} has what is no entry", text_of(list));
            for (const auto& [name, value] : entry.GetObject()) {
                if (!is_nameless(text_of(name), value))
                    return fmt::format("{}.{} may be a name", text_of(list), text_of(name));
            }
        }
    }
    return {};
}

std::string problem_of_text(const MeantPart& part, bool with_names) {
    rapidjson::Document content;
    if (std::string problem = parse_json(part.text, content); !problem.empty()) return problem;
    if (with_names) return {};
    if (!content.IsObject()) return "is no object";
    return part.name == "names" ? problem_of_names(content) : problem_of_outline(content);
}

// What an export checks already; and no receipt of a page has names.
std::string problem_of_receipt(const std::string& text) {
    rapidjson::Document receipt;
    const bool named = parse_json(text, receipt).empty() && member(receipt, "names") != nullptr;
    return named ? "names" : check_receipt(text);
}

std::string problem_of_table(const MeantPart& meant, std::string_view table, DecodedRows& rows) {
    const DecodedTable read = decode_table(table, rows);
    if (!read.problem.empty()) return read.problem;
    const auto is_told = [](std::string_view text) { return is_closed_word(text) || is_numeral(text); };
    if (!std::ranges::all_of(read.texts, is_told)) return "a text that may be a name";
    if (!meant.columns.empty() && read.columns != meant.columns) return "other columns";
    if (meant.sums.empty()) return {};
    if (read.row_count != meant.row_count || read.sums.size() != meant.sums.size())
        return fmt::format("{} rows were written, {} are read", meant.row_count, read.row_count);
    const auto differ = std::ranges::mismatch(read.sums, meant.sums);
    if (differ.in1 == read.sums.end()) return {};
    return fmt::format("column {} holds other numbers", differ.in1 - read.sums.begin() + 1);
}

}  // namespace

bool is_page_text(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) return false;
    while (!text.empty()) {
        const size_t space = text.find(' ');
        if (!is_word_of_a_sentence(text.substr(0, space))) return false;
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    }
    return true;
}

std::string problem_of_page(std::string_view page, const std::vector<MeantPart>& meant, bool with_names) {
    size_t at = 0;
    DecodedRows rows;
    for (const MeantPart& part : meant) {
        const auto packed = next_part(page, at);
        if (!packed || packed->name != part.name || packed->side != name(part.side))
            return "the part " + part.name + " is missing";
        const auto content = unpacked(packed->base64, part.bytes);
        if (!content || content->size() != part.bytes) return "the part " + part.name + " cannot be unpacked";
        std::string problem;
        if (part.is_table()) {
            if (part.name != "derived") rows = {};
            problem = problem_of_table(part, *content, rows);
        } else if (*content != part.text) {
            problem = "another text";
        } else if (part.name == "diff") {
            problem = check_diff(part.text);
        } else if (part.name == "receipt") {
            problem = problem_of_receipt(part.text);
        } else {
            problem = problem_of_text(part, with_names);
        }
        if (!problem.empty()) return fmt::format("{}: {}", part.name, problem);
    }
    return next_part(page, at) ? "a part more than was written" : "";
}

}  // namespace memsnap
