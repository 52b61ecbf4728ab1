// SPDX-License-Identifier: Apache-2.0
//
// The lines of Python instructions, by the line table of their code object as it lay in the interpreter. The
// rules: one decoder a format, that reads a table once; where a table ends early, or a version's format is
// not known, there is no line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memsnap {

struct CodeLines {
    uint8_t python_major = 0, python_minor = 0;
    uint32_t first_line = 0;
};

class LineTable {
  public:
    LineTable() = default;
    LineTable(const CodeLines& code, std::span<const std::byte> table);

    // Of the instruction at this offset in the code.
    std::optional<uint32_t> line_at(uint32_t instruction_bytes) const;
    uint64_t memory_bytes() const { return ranges_.capacity() * sizeof(Range); }

  private:
    friend class LineDecoder;

    static constexpr uint32_t kNoLine = UINT32_MAX;
    struct Range {
        uint32_t last_bytes = 0;  // offset of its last byte of code
        uint32_t line = kNoLine;
    };
    std::vector<Range> ranges_;  // in the order of the code
};

}  // namespace memsnap
