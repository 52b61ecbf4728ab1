// SPDX-License-Identifier: Apache-2.0
//
// A part of the page: a text or table, packed to stand in an element of its own. The rule: packed is base64
// of a zlib stream; what is unpacked is bounded by what was packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memsnap {

enum class PageSide : uint8_t {
    only,
    before,
    after
};

// As the attribute has it; empty: none.
std::string_view name(PageSide side);

// The whole element.
std::string page_part(std::string_view name, PageSide side, std::string_view content);

// Of the elements of a page; its name and side as the element says, and the base64.
struct PackedPart {
    std::string_view name, side, base64;
};

// The next element from `from` on, which moves behind it. Nothing: there is none.
std::optional<PackedPart> next_part(std::string_view page, size_t& from);

// Nothing where it is no packed part, or one of more bytes.
std::optional<std::string> unpacked(std::string_view base64, size_t bytes_most);

}  // namespace memsnap
