// SPDX-License-Identifier: Apache-2.0
//
// The columns of the event ledger, in their order; docs/ledger.md says what each means. The rule: the order
// never changes, a new column goes to the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vocabulary.h"

namespace memsnap {

enum class CellType : uint8_t {
    number,   // 0 to 2^64 - 1
    integer,  // -2^63 to 2^63 - 1
    flag,     // 0 or 1
    kind,     // words of the vocabularies
    op,
    object,
};

// clang-format off
// X(name, type, whether it may be empty: not known, or without meaning for the kind)
#define MEMSNAP_CSV_COLUMNS(X)                                                                     \
    X(ticket, number, false) X(kind, kind, false) X(op, op, false) X(device, number, true)         \
    X(thread, number, false) X(library, number, false) X(object, object, true)                     \
    X(allocation, number, true) X(segment, number, true) X(offset_bytes, number, true)             \
    X(size_bytes, number, true) X(value, integer, true) X(dimension, number, true)                 \
    X(site, number, false) X(phase, number, false) X(step, number, false) X(code, number, false)   \
    X(nested, flag, false) X(capturing, flag, false) X(from_torch, flag, false)                    \
    X(cause, number, true) X(allocated_bytes, number, true) X(reserved_bytes, number, true)        \
    X(device_total_bytes, number, true) X(device_free_bytes, number, true)                         \
    X(others_bytes, number, true) X(active_bytes, number, true) X(deferred_bytes, number, true)    \
    X(segment_bytes, number, true) X(free_bytes, number, true) X(outside_bytes, number, true) \
    X(held_bytes, integer, true) X(own_outside_bytes, number, true)                                \
    X(other_processes_bytes, number, true) X(unattributed_bytes, integer, true)                    \
    X(expected_free_bytes, integer, true)                                                          \
    X(parameter_bytes, number, true) X(gradient_bytes, number, true)                               \
    X(optimizer_state_bytes, number, true) X(buffer_bytes, number, true)                           \
    X(input_bytes, number, true) X(activation_bytes, number, true)
// clang-format on

struct CsvColumn {
    std::string_view name;
    CellType type = CellType::number;
    bool may_be_empty = false;
};

#define MEMSNAP_ENUMERATOR(name, type, empty) name,
enum class Column : uint8_t {
    MEMSNAP_CSV_COLUMNS(MEMSNAP_ENUMERATOR)
};
#undef MEMSNAP_ENUMERATOR

struct CategoryColumn {
    Column column;
    Category category;
};
inline constexpr CategoryColumn kCategoryColumns[] = {
    {Column::parameter_bytes, Category::parameter},
    {Column::gradient_bytes, Category::gradient},
    {Column::optimizer_state_bytes, Category::optimizer_state},
    {Column::buffer_bytes, Category::buffer},
    {Column::input_bytes, Category::input},
    {Column::activation_bytes, Category::activation},
};

#define MEMSNAP_ROW(name, type, empty) {#name, CellType::type, empty},
inline constexpr CsvColumn kCsvColumns[] = {MEMSNAP_CSV_COLUMNS(MEMSNAP_ROW)};
#undef MEMSNAP_ROW
inline constexpr size_t kCsvColumnCount = sizeof kCsvColumns / sizeof *kCsvColumns;

}  // namespace memsnap
