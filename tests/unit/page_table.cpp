// SPDX-License-Identifier: Apache-2.0
//
// Codings of the page's tables: the bytes of known rows, and every coding there and back at the edges of what
// it holds.
#include "page_table.h"

#include <string>

#include "catch.h"
#include "page_decode.h"

using namespace memsnap;

namespace {

// The column's bytes of a table with that column behind `ticket`, `kind`, `device`, ... as `events` has them.
std::string codes_of(Coding coding, const std::vector<PageCell>& cells,
                     const std::vector<PageRow>& rows = {}) {
    ColumnCoder column({"x", coding});
    for (size_t at = 0; at < cells.size(); ++at)
        column.take(at, rows.empty() ? PageRow{.ticket = at} : rows[at], cells[at]);
    column.finish();
    return column.bytes();
}

std::string bytes(std::initializer_list<int> list) {
    std::string text;
    for (const int byte : list)
        text.push_back(static_cast<char>(byte));
    return text;
}

const PageCell kEmpty;
constexpr Wide kMost = kPageNumber_most;

}  // namespace

TEST_CASE("codes of the page's columns are as the format says") {
    CHECK(codes_of(Coding::plain, {0, kEmpty, 126, 127}) == bytes({1, 0, 127, 0x80, 1}));
    CHECK(codes_of(Coding::delta, {5, kEmpty, 3, 3}) == bytes({11, 0, 4, 1}));
    CHECK(codes_of(Coding::runs, {7, 7, kEmpty, 0}) == bytes({2, 8, 1, 0, 1, 1}));
    CHECK(codes_of(Coding::sparse, {kEmpty, kEmpty, -1, 4, kEmpty}) == bytes({2, 1, 0, 8}));
    CHECK(codes_of(Coding::back, {0, 0, kEmpty}, {{.ticket = 0}, {.ticket = 9}, {.ticket = 10}}) ==
          bytes({1, 10, 0}));
}

TEST_CASE("a device's column goes on from the last value of that device") {
    const std::vector<PageRow> rows = {{.device = 0}, {.device = 1}, {.device = -1}, {.device = 0}};
    CHECK(codes_of(Coding::device, {4, 2, 1, 5}, rows) == bytes({9, 5, 3, 3}));
}

TEST_CASE("bytes that a birth or free moves are taken off or put on") {
    const std::vector<PageRow> rows = {{.device = 0, .moved_bytes = 512}, {.device = 0, .moved_bytes = -512}};
    CHECK(codes_of(Coding::moved, {512, 0}, rows) == bytes({1, 1}));
    CHECK(codes_of(Coding::freed, {1000, 1512}, rows).size() == 3);
    CHECK(codes_of(Coding::freed, {-512, 0}, rows) == bytes({1, 1}));
}

TEST_CASE("a birth's value is expected again where it is spoken of, and the last one where it is empty") {
    const std::vector<PageRow> rows = {{.ticket = 0}, {.ticket = 1}, {.born_at_row = 0}, {.born_at_row = 1}};
    CHECK(codes_of(Coding::born, {20, kEmpty, 20, 20}, rows) == bytes({41, 0, 1, 1}));
    CHECK(codes_of(Coding::born, {20, 30, 20, 31}, rows) == bytes({41, 21, 1, 3}));
}

TEST_CASE("a place goes on from the base of its segment") {
    const std::vector<PageRow> rows = {{.segment = 1, .offset_bytes = 10},
                                       {.segment = 2, .offset_bytes = 0},
                                       {.segment = 1, .offset_bytes = 30},
                                       {}};
    CHECK(codes_of(Coding::based, {15, 40, 35, 1}, rows) == bytes({11, 81, 1, 3}));
}

TEST_CASE("what a coding cannot hold stands beside the column in full") {
    for (const Coding coding : {Coding::plain, Coding::delta, Coding::device, Coding::sparse, Coding::runs,
                                Coding::born, Coding::moved, Coding::freed, Coding::based}) {
        ColumnCoder column({"x", coding});
        column.take(0, {}, kMost);
        CHECK(column.large().empty());
        column.take(1, {}, kMost + 1);
        column.take(2, {}, UINT64_MAX);
        column.take(3, {}, -kMost - 1);
        CHECK(column.large() ==
              "[1,\"9007199254740992\"],[2,\"18446744073709551615\"],[3,\"-9007199254740992\"]");
    }
    ColumnCoder later({"x", Coding::back});
    later.take(0, {.ticket = 7}, 8);
    CHECK(later.large() == "[0,\"8\"]");
    ColumnCoder of_no_ticket({"x", Coding::back});
    of_no_ticket.take(0, {.ticket = uint64_t{1} << 53}, 8);
    CHECK(of_no_ticket.large() == "[0,\"8\"]");
}

TEST_CASE("every coding gives back what was put in, from end to end of what it holds") {
    const std::vector<PageCell> edges = {0,         1,  kEmpty, kMost, -kMost, kMost, kEmpty,     -1,
                                         kMost + 1, 63, 64,     -64,   -65,    0,     UINT64_MAX, 127};
    const PageColumn columns[] = {{"ticket", Coding::delta},
                                  {"kind", Coding::plain, PageType::kind},
                                  {"device", Coding::runs},
                                  {"allocation", Coding::back},
                                  {"size_bytes", Coding::born},
                                  {"segment", Coding::born},
                                  {"offset_bytes", Coding::born},
                                  {"a", Coding::delta},
                                  {"b", Coding::device},
                                  {"c", Coding::sparse},
                                  {"d", Coding::born},
                                  {"e", Coding::moved},
                                  {"f", Coding::freed},
                                  {"g", Coding::based},
                                  {"h", Coding::plain},
                                  {"i", Coding::runs}};
    PageTable table(columns, {{PageType::kind, {"block_alloc", "block_free", "ok"}}});
    for (uint64_t row = 0; row < 64; ++row) {
        const PageCell& edge = edges[row % edges.size()];
        const uint64_t kind = row % 3, size = 512 * (row % 5);
        const bool earlier = row >= 8 && row % 4 == 0;
        const uint64_t birth = earlier ? 10 * (row - 8) : 10 * row;
        const Wide moved = kind == 0 ? Wide{size} : kind == 1 ? -Wide{size} : 0;
        const PageRow facts{.ticket = 10 * row,
                            .device = static_cast<int>(row % 3) - 1,
                            .moved_bytes = moved,
                            .segment = row % 4,
                            .offset_bytes = Wide{row} * 512,
                            .born_at_row = earlier ? std::optional(row - 8) : std::nullopt};
        const PageCell device = facts.device < 0 ? kEmpty : PageCell(facts.device);
        const PageCell segment = facts.segment == 0 ? kEmpty : PageCell(facts.segment);
        const PageCell cells[] = {facts.ticket, kind, device, birth, size, segment, facts.offset_bytes,
                                  edge,         edge, edge,   edge,  edge, edge,    edge,
                                  edge,         edge};
        table.add(facts, cells);
    }
    const std::string text = table.finish();
    DecodedRows rows;
    const DecodedTable read = decode_table(text, rows);
    CHECK(read.problem.empty());
    CHECK(read.row_count == 64);
    CHECK(read.sums == table.sums());
}

TEST_CASE("a table that is cut, lengthened or no table is refused") {
    const PageColumn columns[] = {{"ticket", Coding::delta}, {"x", Coding::runs}, {"y", Coding::sparse}};
    PageTable table(columns, {});
    for (int row = 0; row < 9; ++row) {
        const PageCell cells[] = {row, row / 3, row % 4 == 0 ? PageCell(row) : kEmpty};
        table.add({.ticket = static_cast<uint64_t>(row)}, cells);
    }
    const std::string text = table.finish();
    for (size_t size = 0; size < text.size(); ++size) {
        DecodedRows rows;
        CHECK_FALSE(decode_table(std::string_view(text).substr(0, size), rows).problem.empty());
    }
    DecodedRows rows;
    CHECK_FALSE(decode_table(text + "x", rows).problem.empty());
}
