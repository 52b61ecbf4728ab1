// SPDX-License-Identifier: Apache-2.0
//
// zlib and base64, there and back.
#include "page_part.h"

#include <fmt/format.h>
#include <sodium.h>
#include <zlib.h>

#include <new>

namespace memsnap {
namespace {

constexpr int kLevel = 6;
constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
constexpr std::string_view kOpening = "<script type=\"application/x-memsnap\" data-part=\"";
constexpr std::string_view kSide = "\" data-side=\"";
constexpr std::string_view kOpened = "\">";
constexpr std::string_view kClosing = "</script>\n";

std::string deflated(std::string_view content) {
    uLongf bytes = compressBound(content.size());
    std::string out(bytes, '\0');
    const int done = compress2(reinterpret_cast<Bytef*>(out.data()), &bytes,
                               reinterpret_cast<const Bytef*>(content.data()), content.size(), kLevel);
    if (done != Z_OK) throw std::bad_alloc();  // the only failure left: the room is as zlib asked for it
    out.resize(bytes);
    return out;
}

// What stands before `end`, and `text` moves behind that.
std::optional<std::string_view> taken_until(std::string_view& text, std::string_view end) {
    const size_t at = text.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view before = text.substr(0, at);
    text.remove_prefix(at + end.size());
    return before;
}

}  // namespace

std::string_view name(PageSide side) {
    constexpr std::string_view kNames[] = {"", "before", "after"};
    return kNames[static_cast<size_t>(side)];
}

std::string page_part(std::string_view part_name, PageSide side, std::string_view content) {
    const std::string packed = deflated(content);
    std::string part(kOpening);
    part += part_name;
    if (side != PageSide::only) {
        part += kSide;
        part += name(side);
    }
    part += kOpened;
    const size_t begin = part.size();
    part.resize(begin + sodium_base64_ENCODED_LEN(packed.size(), kVariant));
    sodium_bin2base64(part.data() + begin, part.size() - begin,
                      reinterpret_cast<const unsigned char*>(packed.data()), packed.size(), kVariant);
    part.pop_back();  // its end of a C string
    part += kClosing;
    return part;
}

std::optional<PackedPart> next_part(std::string_view page, size_t& from) {
    const size_t opening = page.find(kOpening, from);
    if (opening == std::string_view::npos) return std::nullopt;
    std::string_view rest = page.substr(opening + kOpening.size());
    const auto attributes = taken_until(rest, kOpened);
    const auto base64 = attributes ? taken_until(rest, kClosing) : std::nullopt;
    if (!base64) return std::nullopt;
    from = page.size() - rest.size();
    std::string_view side = *attributes;
    const auto name = taken_until(side, kSide);
    return name ? PackedPart{*name, side, *base64} : PackedPart{*attributes, "", *base64};
}

std::optional<std::string> unpacked(std::string_view base64, size_t bytes_most) {
    std::string packed(base64.size() / 4 * 3 + 3, '\0');
    size_t packed_bytes = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(packed.data()), packed.size(), base64.data(),
                          base64.size(), nullptr, &packed_bytes, nullptr, kVariant) != 0) {
        return std::nullopt;
    }
    std::string content(bytes_most + 1, '\0');
    uLongf bytes = content.size();
    uLong used_bytes = packed_bytes;
    const int done = uncompress2(reinterpret_cast<Bytef*>(content.data()), &bytes,
                                 reinterpret_cast<const Bytef*>(packed.data()), &used_bytes);
    if (done != Z_OK || used_bytes != packed_bytes || bytes > bytes_most) return std::nullopt;
    content.resize(bytes);
    return content;
}

}  // namespace memsnap
