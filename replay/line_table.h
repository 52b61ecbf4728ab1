// SPDX-License-Identifier: Apache-2.0
//
// The line of a Python instruction, by the line table of its code object as it lay in the interpreter. The
// rule: one decoder a format; a table that ends early, or a version whose format is not known, gives no line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace memsnap {

struct LineQuestion {
    uint8_t python_major = 0, python_minor = 0;
    uint32_t first_line = 0;
    uint32_t instruction_bytes = 0;  // offset in the code
};

std::optional<uint32_t> line_of(const LineQuestion& question, std::span<const std::byte> table);

}  // namespace memsnap
