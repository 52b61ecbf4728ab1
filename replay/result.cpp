// SPDX-License-Identifier: Apache-2.0
//
// The text of an error, as a terminal shows it.
#include "result.h"

#include <fmt/format.h>

namespace memsnap {

std::string printable(std::string_view text) {
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            shown += fmt::format("\\x{:02x}", byte);
        } else {
            shown += c;
        }
    }
    return shown;
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
