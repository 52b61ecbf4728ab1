// SPDX-License-Identifier: Apache-2.0
//
// The sidecar of a ring image: names, frames and stacks as WIRE.md §11 has them. The rule: each is written
// once, at its first sight, and its number is its ordinal, so that equal sources give equal bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../interpose/wire_names.h"
#include "seeded_hash.h"
#include "snapshot.h"

namespace memsnap::snapshot {

class NamesImage {
  public:
    explicit NamesImage(const std::array<uint8_t, 16>& ring_id);

    uint64_t stack(const Texts& texts, const std::vector<Frame>& innermost_first);
    // Of the whole text the part that is kept; equal parts are one name.
    static std::string_view kept_name(std::string_view text);
    uint16_t name(std::string_view text);

    bool has_stacks() const { return !tokens_.empty(); }
    uint64_t dropped_count() const { return dropped_count_; }
    std::span<const std::byte> bytes();

  private:
    struct FrameHash {
        size_t operator()(const Frame& frame) const;
    };

    uint32_t code(const Texts& texts, const Frame& frame);
    uint32_t new_code(std::string_view file, std::string_view function, uint32_t line);
    bool add(wire::NameKind kind, uint64_t id, std::initializer_list<std::span<const std::byte>> payload);

    std::vector<std::byte> bytes_;                                                  // the header first
    std::unordered_map<std::string, uint16_t, SeededHash, std::equal_to<>> names_;  // as cut
    std::unordered_map<std::string, uint32_t, SeededHash> codes_;    // by file, function and line
    std::unordered_map<Frame, uint32_t, FrameHash> codes_by_frame_;  // of `texts_of_frames_`
    const Texts* texts_of_frames_ = nullptr;
    std::unordered_multimap<uint64_t, uint64_t, SeededHash> tokens_;  // by hash of the words
    std::vector<size_t> stack_places_;                                // of each token: where its words lie
    std::vector<uint64_t> words_;                                     // of the stack at hand
    uint64_t dropped_count_ = 0;
};

}  // namespace memsnap::snapshot
