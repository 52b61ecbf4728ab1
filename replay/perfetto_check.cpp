// SPDX-License-Identifier: Apache-2.0
//
// The check behind the writing of a trace. The rule: the file is parsed again in one pass, and each text of
// it is looked at.
#include <fmt/format.h>
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "names.h"
#include "perfetto.h"
#include "perfetto_lanes.h"
#include "perfetto_words.h"
#include "snapshot_export_names.h"

namespace memsnap {
namespace {

bool is_digest(std::string_view text) {
    constexpr size_t kDigits = 64;
    return text.size() == kDigits &&
           std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_number(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_track(std::string_view text) {
    for (const std::string_view kind : {std::string_view("cuda:"), std::string_view("thread ")}) {
        if (text.starts_with(kind)) return is_number(text.substr(kind.size()));
    }
    return false;
}

bool is_lane(std::string_view text) {
    for (size_t at = 0; at < kTrackCount; ++at) {
        if (text == name(static_cast<Track>(at))) return true;
    }
    return false;
}

bool is_without_leave(std::string_view text) {
    return is_exported_text(text) || is_track(text) || is_lane(text) || is_digest(text) || is_number(text) ||
           std::ranges::find(kPerfettoWords, text) != std::end(kPerfettoWords) ||
           is_word(Vocabulary::operation, text) || is_word(Vocabulary::allocator, text) ||
           is_word(Vocabulary::near_miss, text);
}

struct Texts : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Texts> {
    bool String(const char* text, rapidjson::SizeType length, bool) {
        return with_names || is_without_leave({text, length});
    }
    bool Key(const char*, rapidjson::SizeType, bool) { return true; }  // those of the writer
    bool with_names = false;
};

// Empty: nothing is wrong.
std::string problem_of(const std::string& path, bool with_names) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) return "it cannot be read again";
    std::array<char, 65536> buffer;
    rapidjson::FileReadStream stream(file.get(), buffer.data(), buffer.size());
    Texts texts;
    texts.with_names = with_names;
    rapidjson::Reader reader;
    const auto result = reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, texts);
    if (!result.IsError()) return {};
    const bool text = result.Code() == rapidjson::kParseErrorTermination;
    return fmt::format("{} at offset {}", text ? "a text that is no token" : "no JSON", result.Offset());
}

}  // namespace

Result<void> check_perfetto(const std::string& path, bool with_names, const std::string& source) {
    const std::string problem = problem_of(path, with_names);
    if (problem.empty()) return {};
    return failure({.code = ErrorCode::io,
                    .file = source,
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "perfetto_self_check",
                    .detail = problem,
                    .way_out = "no file was written; please report this"});
}

}  // namespace memsnap
