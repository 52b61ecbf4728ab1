// SPDX-License-Identifier: Apache-2.0
//
// Parts of the finished text against what they were made of.
#include "page_check.h"

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <algorithm>

#include "diff_json.h"
#include "names.h"
#include "page_decode.h"
#include "page_words.h"
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
bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
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

// As prose has it: letters, perhaps in parts; or all of it in capitals, as settings are written.
bool is_prose(std::string_view text) {
    const bool joined =
        std::ranges::all_of(text, [](char c) { return is_letter(c) || c == '-' || c == '\''; });
    const bool setting =
        std::ranges::all_of(text, [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
    const bool option = text.starts_with("--") &&
                        std::ranges::all_of(text.substr(2), [](char c) { return is_letter(c) || c == '-'; });
    return joined || setting || option;
}

bool is_device(std::string_view text) {
    constexpr std::string_view kDevice = "cuda:";
    return text.starts_with(kDevice) && text.size() > kDevice.size() &&
           std::ranges::all_of(text.substr(kDevice.size()), is_digit);
}

// One word between two spaces, without the marks around it. Signs beyond ASCII are the sentences' own: a name
// has letters or digits beside them and is refused for those.
bool is_word_of_a_sentence(std::string_view text) {
    constexpr std::string_view kAround = ".,;:()\"'=<>";
    const auto is_mark = [&](char c) { return kAround.contains(c) || static_cast<unsigned char>(c) >= 0x80; };
    while (!text.empty() && is_mark(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_mark(text.back()))
        text.remove_suffix(1);
    return text.empty() || is_numeral(text) || is_prose(text) || is_device(text) || is_closed_word(text) ||
           is_exported_text(text) || is_library_token(text);
}

struct Texts : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Texts> {
    bool String(const char* text, rapidjson::SizeType length, bool) { return is_page_text({text, length}); }
    bool Key(const char*, rapidjson::SizeType, bool) { return true; }  // those of the writer
};

std::string problem_of_text(const std::string& text, bool with_names) {
    Texts texts;
    rapidjson::Reader reader;
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::BaseReaderHandler<> any;
    const auto result = with_names ? reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, any)
                                   : reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, texts);
    if (!result.IsError()) return {};
    const bool refused = result.Code() == rapidjson::kParseErrorTermination;
    return fmt::format("{} at offset {}", refused ? "a text that may be a name" : "no JSON", result.Offset());
}

std::string problem_of_table(const MeantPart& meant, std::string_view table, DecodedRows& rows) {
    const DecodedTable read = decode_table(table, rows);
    if (!read.problem.empty()) return read.problem;
    if (!std::ranges::all_of(read.texts, is_page_text)) return "a text that may be a name";
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
        if (!packed || packed->name != part.name) return "the part " + part.name + " is missing";
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
        } else if (part.name != "receipt") {
            problem = problem_of_text(part.text, with_names);
        }
        if (!problem.empty()) return fmt::format("{}: {}", part.name, problem);
    }
    return next_part(page, at) ? "a part more than was written" : "";
}

}  // namespace memsnap
