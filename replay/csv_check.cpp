// SPDX-License-Identifier: Apache-2.0
//
// Cells by type, and the rules between them.
#include "csv_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ledger_row.h"
#include "vocabulary.h"

namespace memsnap {
namespace {

// As it is printed: no sign or zero in front, nothing behind.
template <class Integer>
std::optional<Integer> number_of(std::string_view text) {
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    const bool padded = digits.size() > 1 && digits.starts_with('0');
    return padded || text == "-0" ? std::nullopt : std::optional(value);
}

#define MEMSNAP_WORD(name, ...) #name,
constexpr std::string_view kKinds[] = {MEMSNAP_KINDS(MEMSNAP_WORD)};
constexpr std::string_view kOps[] = {MEMSNAP_OPS(MEMSNAP_WORD)};
constexpr std::string_view kObjects[] = {MEMSNAP_OBJECTS(MEMSNAP_WORD)};
#undef MEMSNAP_WORD

bool is_of(CellType type, std::string_view cell) {
    switch (type) {
        case CellType::number:
            return number_of<uint64_t>(cell).has_value();
        case CellType::integer:
            return number_of<int64_t>(cell).has_value();
        case CellType::flag:
            return cell == "0" || cell == "1";
        case CellType::kind:
            return std::ranges::find(kKinds, cell) != std::end(kKinds);
        case CellType::op:
            return std::ranges::find(kOps, cell) != std::end(kOps);
        case CellType::object:
            return std::ranges::find(kObjects, cell) != std::end(kObjects);
    }
    return false;
}

}  // namespace

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (;;) {
        const size_t comma = line.find(',');
        cells.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return cells;
        line.remove_prefix(comma + 1);
    }
}

bool CsvCheck::refuse(std::string_view column, std::string_view what) {
    problem_ = fmt::format("row {}{}{}: {}", line_count_, column.empty() ? "" : ", ", column, what);
    return false;
}

bool CsvCheck::take_lines(std::string_view lines) {
    while (!lines.empty()) {
        const size_t end = lines.find('\n');
        if (end == std::string_view::npos) return refuse("", "does not end its line");
        if (!take(lines.substr(0, end))) return false;
        lines.remove_prefix(end + 1);
    }
    return true;
}

bool CsvCheck::take(std::string_view line) {
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() != kCsvColumnCount)
        return refuse("", fmt::format("{} columns instead of {}", cells.size(), kCsvColumnCount));
    for (size_t at = 0; at < kCsvColumnCount; ++at) {
        const CsvColumn& column = kCsvColumns[at];
        const bool fits = line_count_ == 0 ? cells[at] == column.name : take_cell(column, cells[at]);
        if (!fits) return problem_.empty() ? refuse(column.name, "is not the column's name") : false;
    }
    if (line_count_ != 0 && !take_row(cells)) return false;
    ++line_count_;
    return true;
}

bool CsvCheck::take_cell(const CsvColumn& column, std::string_view cell) {
    if (cell.empty()) return column.may_be_empty || refuse(column.name, "is empty");
    return is_of(column.type, cell) || refuse(column.name, "holds what no ledger has there");
}

bool CsvCheck::take_row(const std::vector<std::string_view>& cells) {
    const auto cell = [&](Column column) { return number_of<uint64_t>(cells[static_cast<size_t>(column)]); };
    const uint64_t ticket = *cell(Column::ticket);
    if (last_ticket_ && ticket <= *last_ticket_) return refuse("ticket", "is not after the row before");
    last_ticket_ = ticket;
    const auto allocation = cell(Column::allocation);
    if (allocation && !is_birth_of_window(window_, *allocation))
        return refuse("allocation", fmt::format("{} is no allocation of the recording", *allocation));
    const auto empty = [&](Column column) { return cells[static_cast<size_t>(column)].empty(); };
    if (empty(Column::unattributed_bytes) && !empty(Column::expected_free_bytes))
        return refuse("expected_free_bytes", "follows from no answer of the device");
    uint64_t told_bytes = 0, overflows = 0;
    for (const auto& [column, category] : kCategoryColumns)
        overflows |= __builtin_add_overflow(told_bytes, cell(column).value_or(0), &told_bytes) ? 1U : 0U;
    if (overflows != 0 || told_bytes > cell(Column::active_bytes).value_or(0))
        return refuse("parameter_bytes", "and the other categories are more than what is active");
    if (const auto cause = cell(Column::cause); cause && *cause >= ticket)
        return refuse("cause", "is not before the row");
    return true;
}

}  // namespace memsnap
