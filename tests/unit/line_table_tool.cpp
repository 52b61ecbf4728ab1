// SPDX-License-Identifier: Apache-2.0
//
// Lines of all instructions of code objects, for tests that have interpreters at hand. Each line of standard
// input: major, minor, first line, number of code units, table in hexadecimal or `-`; each line of output:
// the lines of the units, `-` for none.
#include <iostream>
#include <string>
#include <vector>

#include "line_table.h"

int main() {
    unsigned major = 0, minor = 0;
    uint32_t first_line = 0, unit_count = 0;
    std::string text;
    while (std::cin >> major >> minor >> first_line >> unit_count >> text) {
        std::vector<std::byte> table;
        for (size_t at = 0; text != "-" && at + 1 < text.size(); at += 2)
            table.push_back(static_cast<std::byte>(std::stoul(text.substr(at, 2), nullptr, 16)));
        const memsnap::LineTable lines({static_cast<uint8_t>(major), static_cast<uint8_t>(minor), first_line},
                                       table);
        for (uint32_t unit = 0; unit < unit_count; ++unit) {
            const auto line = lines.line_at(unit * 2);
            std::cout << (unit == 0 ? "" : " ") << (line ? std::to_string(*line) : "-");
        }
        std::cout << '\n';
    }
}
