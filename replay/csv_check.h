// SPDX-License-Identifier: Apache-2.0
//
// The export check of the event ledger. The rule: each line is taken apart as text again and compared with
// what its column may hold; an allocation must be one that the recording knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_columns.h"
#include "window.h"

namespace memsnap {

// The cells of a line without its end; no ledger quotes any.
std::vector<std::string_view> cells_of(std::string_view line);

class CsvCheck {
  public:
    explicit CsvCheck(const Window& window) : window_(window) {}

    // The next line without its end; the header is the first. False: `problem()` says why.
    bool take(std::string_view line);
    // The same for several whole lines.
    bool take_lines(std::string_view lines);

    // Row (the header is row 0), column and what is wrong there.
    const std::string& problem() const { return problem_; }
    uint64_t row_count() const { return line_count_ == 0 ? 0 : line_count_ - 1; }

  private:
    bool refuse(std::string_view column, std::string_view what);
    bool take_cell(const CsvColumn& column, std::string_view cell);
    bool take_row(const std::vector<std::string_view>& cells);

    const Window& window_;
    uint64_t line_count_ = 0;
    std::optional<uint64_t> last_ticket_;
    std::string problem_;
};

}  // namespace memsnap
