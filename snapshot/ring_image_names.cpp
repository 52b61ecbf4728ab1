// SPDX-License-Identifier: Apache-2.0
//
// Texts are cut as the recorder cuts them: of a long one the end tells more than the begin.
#include "ring_image_names.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "../interpose/wire.h"
#include "../replay/name_bounds.h"
#include "../replay/utf8.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kSidecar_bytes_most = size_t{1} << 30;  // what a reader takes
constexpr size_t kName_bytes_most = 1023;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

size_t NamesImage::FrameHash::operator()(const Frame& frame) const {
    static_assert(std::has_unique_object_representations_v<Frame>);
    return seeded_hash({reinterpret_cast<const char*>(&frame), sizeof frame});
}

NamesImage::NamesImage(const std::array<uint8_t, 16>& ring_id) {
    wire::NamesHeader header = {};
    std::ranges::copy(wire::kNamesMagic, header.magic);
    header.version_major = wire::kNamesVersionMajor;
    header.version_minor = wire::kNamesVersionMinor;
    header.byte_order = wire::kByteOrder;
    std::ranges::copy(ring_id, header.ring_id);
    bytes_.resize(sizeof header);
    std::memcpy(bytes_.data(), &header, sizeof header);
}

bool NamesImage::add(wire::NameKind kind, uint64_t id,
                     std::initializer_list<std::span<const std::byte>> payload) {
    size_t payload_bytes = 0;
    for (const auto part : payload)
        payload_bytes += part.size();
    const size_t entry_bytes = (sizeof(wire::NameEntry) + payload_bytes + 7) / 8 * 8;
    if (bytes_.size() + entry_bytes > kSidecar_bytes_most) {
        ++dropped_count_;
        return false;
    }
    const wire::NameEntry entry = {static_cast<uint32_t>(entry_bytes), kind,
                                   static_cast<uint16_t>(payload_bytes), id};
    size_t at = bytes_.size();
    bytes_.resize(at + entry_bytes);
    std::memcpy(bytes_.data() + at, &entry, sizeof entry);
    at += sizeof entry;
    for (const auto part : payload) {
        if (part.empty()) continue;
        std::memcpy(bytes_.data() + at, part.data(), part.size());
        at += part.size();
    }
    return true;
}

std::string_view NamesImage::kept_name(std::string_view text) {
    return last_part(text, kName_bytes_most);
}

uint16_t NamesImage::name(std::string_view text) {
    text = kept_name(text);
    if (text.empty()) return 0;
    const auto known = names_.find(text);
    if (known != names_.end()) return known->second;
    if (names_.size() == std::numeric_limits<uint16_t>::max()) {
        ++dropped_count_;
        return 0;
    }
    const auto id = static_cast<uint16_t>(names_.size() + 1);
    names_.emplace(text, id);
    add(wire::NameKind::name, id, {std::as_bytes(std::span(text))});
    return id;
}

uint32_t NamesImage::new_code(std::string_view file, std::string_view function, uint32_t line) {
    std::string key(file);
    key += '\0';
    key += function;
    key += '\0';
    key.append(reinterpret_cast<const char*>(&line), sizeof line);
    const auto [found, fresh] = codes_.try_emplace(std::move(key), static_cast<uint32_t>(codes_.size() + 1));
    if (!fresh) return found->second;
    const std::string_view file_kept = last_part(file, kFileName_bytes_most);
    const std::string_view function_kept = last_part(function, kFunctionName_bytes_most);
    const wire::CodeEntry entry = {line, wire::kFrameTold, static_cast<uint16_t>(file_kept.size()),
                                   static_cast<uint16_t>(function_kept.size()), 0};
    add(wire::NameKind::code, found->second,
        {bytes_of(entry), std::as_bytes(std::span(file_kept)), std::as_bytes(std::span(function_kept))});
    return found->second;
}

uint32_t NamesImage::code(const Texts& texts, const Frame& frame) {
    if (&texts != texts_of_frames_) codes_by_frame_.clear();
    texts_of_frames_ = &texts;
    const auto [found, fresh] = codes_by_frame_.try_emplace(frame);
    if (fresh) found->second = new_code(texts.text(frame.file), texts.text(frame.function), frame.line);
    return found->second;
}

uint64_t NamesImage::stack(const Texts& texts, const std::vector<Frame>& innermost_first) {
    if (innermost_first.empty()) return 0;
    const size_t count = std::min(innermost_first.size(), kFrames_count_most);
    words_.clear();
    for (size_t at = 0; at < count; ++at)
        words_.push_back(uint64_t{code(texts, innermost_first[at])} << 32);
    const auto words = std::as_bytes(std::span(words_));
    const uint64_t hash = seeded_hash({reinterpret_cast<const char*>(words.data()), words.size()});
    const auto [begin, end] = tokens_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
        const size_t place = stack_places_[at->second - 1];
        wire::StackEntry known;
        std::memcpy(&known, bytes_.data() + place - sizeof known, sizeof known);
        if (known.python_count == count &&
            std::memcmp(bytes_.data() + place, words.data(), words.size()) == 0)
            return at->second;
    }
    const bool cut = innermost_first.size() > count;
    const wire::StackEntry entry = {static_cast<uint16_t>(count), 0,
                                    cut ? static_cast<uint16_t>(wire::kStackPythonCut) : uint16_t{0}, 0};
    const uint64_t token = stack_places_.size() + 1;
    const size_t place = bytes_.size() + sizeof(wire::NameEntry) + sizeof entry;
    if (!add(wire::NameKind::stack, token, {bytes_of(entry), words})) return 0;
    stack_places_.push_back(place);
    tokens_.emplace(hash, token);
    return token;
}

std::span<const std::byte> NamesImage::bytes() {
    wire::NamesHeader header;
    std::memcpy(&header, bytes_.data(), sizeof header);
    header.file_bytes = header.used_bytes = bytes_.size();
    std::memcpy(bytes_.data(), &header, sizeof header);
    return bytes_;
}

}  // namespace memsnap::snapshot
