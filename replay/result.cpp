// SPDX-License-Identifier: Apache-2.0
//
// The text of an error, as a terminal shows it.
#include "result.h"

#include <fmt/format.h>

#include <utility>

namespace memsnap {

namespace {

template <class F>
std::string escaped(std::string_view text, F&& is_shown) {
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_shown(byte)) {
            shown += c;
        } else {
            shown += fmt::format("\\x{:02x}", byte);
        }
    }
    return shown;
}

}  // namespace

Error file_error(ErrorCode code, std::string file, std::string_view rule, std::string detail,
                 std::string way_out) {
    return {.code = code,
            .file = std::move(file),
            .offset_bytes = std::nullopt,
            .ticket = std::nullopt,
            .rule = std::string(rule),
            .detail = std::move(detail),
            .way_out = std::move(way_out)};
}

std::string printable(std::string_view text) {
    return escaped(text, [](unsigned char byte) { return byte >= 0x20 && byte != 0x7f; });
}

std::string plain_ascii(std::string_view text) {
    return escaped(text, [](unsigned char byte) { return byte >= 0x20 && byte < 0x7f; });
}

std::string describe(const Error& error) {
    std::string text = error.file.empty() ? "" : printable(error.file) + ": ";
    text += error.detail;
    if (error.ticket) text += fmt::format(", record {}", *error.ticket);
    if (error.offset_bytes) text += fmt::format(", byte offset {}", *error.offset_bytes);
    if (!error.rule.empty()) text += fmt::format(" [{}]", error.rule);
    if (!error.way_out.empty()) text += "\n  " + error.way_out;
    return text;
}

}  // namespace memsnap
