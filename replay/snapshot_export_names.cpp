// SPDX-License-Identifier: Apache-2.0
//
// Names as far as they may be told, within the bounds that a sidecar has for them.
#include "snapshot_export_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "names.h"
#include "reader_names.h"
#include "utf8.h"

namespace memsnap {
namespace {

constexpr std::string_view kUnknownFunction = "?";

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_token(std::string_view text) {
    constexpr std::array<std::string_view, 4> kKinds = {"site-", "frame-", "phase-", "dimension-"};
    constexpr size_t kDigits = 16;
    const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return std::ranges::any_of(kKinds, [&](std::string_view kind) {
        return text.size() == kind.size() + kDigits && text.starts_with(kind) &&
               std::ranges::all_of(text.substr(kind.size()), hexadecimal);
    });
}

bool is_token_frame(const SiteFrame& frame) {
    return frame.known && frame.file.empty() && frame.line.value_or(0) == 0 && is_token(frame.function);
}

snapshot::NamedFrame readable(const SiteFrame& frame) {
    std::string function = frame.function;
    if (function.empty() && frame.native && frame.known)
        function = fmt::format("+0x{:x}", frame.offset_bytes);
    if (function.empty()) function = std::string(kUnknownFunction);
    const auto kept = [](const std::string& bytes, size_t bytes_most) {
        return std::string(last_part(utf8_text(bytes), bytes_most));
    };
    return {kept(function, kFunctionName_bytes_most), kept(frame.file, kFileName_bytes_most),
            frame.line.value_or(0)};
}

}  // namespace

bool is_exported_text(std::string_view text) {
    constexpr std::string_view kStep = "step ";
    return text.empty() || is_token(text) || is_word(Vocabulary::phase_word, text) ||
           (text.starts_with(kStep) && is_number(text.substr(kStep.size())));
}

std::vector<snapshot::NamedFrame> ExportNames::frames(uint64_t site) const {
    SiteFrames known = naming_.sites == nullptr ? SiteFrames{} : naming_.sites->all(site);
    const bool as_they_are = naming_.with_names || std::ranges::all_of(known, is_token_frame);
    if (known.empty() || !as_they_are) {
        const auto text = naming_.key ? site_text(known) : std::nullopt;
        return {{text ? token("site", std::string_view(*text), *naming_.key)
                      : token("site", site, capture_.header.ring_id),
                 "", 0}};
    }
    if (known.size() > kFrames_count_most) known.resize(kFrames_count_most);
    std::vector<snapshot::NamedFrame> frames;
    for (const SiteFrame& frame : known)
        frames.push_back(readable(frame));
    return frames;
}

std::string ExportNames::range_text(uint32_t name) const {
    const std::string* const text = naming_.sites == nullptr ? nullptr : naming_.sites->names().text(name);
    if (text == nullptr) return token("phase", uint64_t{name}, capture_.header.ring_id);
    if (naming_.with_names) return utf8_text(*text);
    if (is_exported_text(*text)) return *text;
    return naming_.key ? token("phase", std::string_view(*text), *naming_.key)
                       : token("phase", uint64_t{name}, capture_.header.ring_id);
}

const std::string& ExportNames::of_range(uint32_t name) {
    const auto found = ranges_.find(name);
    if (found != ranges_.end()) return found->second;
    return ranges_.emplace(name, range_text(name)).first->second;
}

}  // namespace memsnap
