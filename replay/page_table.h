// SPDX-License-Identifier: Apache-2.0
//
// A table of the page (docs/page.md), coded column by column as its rows come. The rule: memory grows with
// the coded bytes, not with the rows; what a coding cannot hold stands beside it in decimals and is never
// rounded.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event.h"
#include "measure.h"

namespace memsnap {

enum class Coding : uint8_t {
    plain,
    delta,
    device,
    sparse,
    runs,
    back,
    born,
    moved,
    freed,
    based
};
std::string_view name(Coding coding);

// What the numbers of a column are: themselves, or indices into one of the table's lists of words.
enum class PageType : uint8_t {
    number,
    flag,
    kind,
    op,
    object,
    state,
    category,
    segment_kind
};
std::string_view name(PageType type);

struct PageColumn {
    std::string_view name;
    Coding coding = Coding::plain;
    PageType type = PageType::number;
};

struct PageWords {
    PageType type = PageType::kind;
    std::vector<std::string_view> list;
};

struct PageCell {
    Wide value = 0;
    bool filled = false;

    PageCell() = default;
    template <std::integral T>
    PageCell(T number) : value(number), filled(true) {}
    PageCell(Wide number) : value(number), filled(true) {}
    template <class T>
    PageCell(const std::optional<T>& number) : value(number ? *number : T{}), filled(number.has_value()) {}
};

// What the codings of a row's cells look at.
struct PageRow {
    uint64_t ticket = 0;    // `back`
    int device = -1;        // `device`, `moved`, `freed`
    Wide moved_bytes = 0;   // `moved`, `freed`
    uint64_t segment = 0;   // `based`; 0: none
    Wide offset_bytes = 0;  // `based`
    std::optional<uint64_t> born_at_row =
        {};  // `born`: an earlier row, of the table that the allocations are of
};

// What was put into a column, so that what is read out of it can be held against it.
struct ColumnSum {
    uint64_t filled_count = 0;
    Wide sum = 0;
    uint64_t mixed = 0;

    void take(uint64_t row, Wide value);
    bool operator==(const ColumnSum&) const = default;
};

class ColumnCoder {
  public:
    explicit ColumnCoder(const PageColumn& shape) : shape_(shape) {}

    void take(uint64_t row, const PageRow& facts, const PageCell& cell);
    void finish();

    const PageColumn& shape() const { return shape_; }
    const std::string& bytes() const { return bytes_; }
    const ColumnSum& sum() const { return sum_; }
    // `[row,"decimals"]`, comma between two.
    const std::string& large() const { return large_; }

  private:
    bool holds(const PageRow& facts, Wide value) const;
    void put(uint64_t code);
    void run_of(uint64_t code);
    void take_difference(const PageRow& facts, int64_t value);
    Wide last_born(const PageRow& facts) const;

    PageColumn shape_;
    std::string bytes_, large_;
    ColumnSum sum_;
    std::array<int64_t, kDeviceCapacity + 1> last_ = {};  // `device`, `moved`, `freed`; the first one else
    std::unordered_map<uint64_t, Wide> bases_;            // `based`, by segment
    std::vector<int64_t> rows_;                           // `born`: the values so far
    uint64_t run_count_ = 0, run_code_ = 0;
    uint64_t behind_row_ = 0;  // `sparse`: the row of the last value
};

class PageTable {
  public:
    PageTable(std::span<const PageColumn> columns, std::vector<PageWords> words);

    // A cell a column.
    void add(const PageRow& facts, std::span<const PageCell> cells);
    uint64_t row_count() const { return row_count_; }

    // The whole table. Nothing is added afterwards.
    std::string finish();
    std::vector<std::string> columns() const;  // name, coding and type of each
    std::vector<ColumnSum> sums() const;

  private:
    std::string head() const;

    std::vector<ColumnCoder> columns_;
    std::vector<PageWords> words_;
    uint64_t row_count_ = 0;
};

// Beyond it a double is not exact.
inline constexpr Wide kPageNumber_most = (Wide{1} << 53) - 1;

}  // namespace memsnap
