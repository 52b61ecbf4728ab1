// SPDX-License-Identifier: Apache-2.0
//
// Lines of instructions, against what CPython itself answered.
#include "line_table.h"

#include <vector>

#include "catch.h"
#include "line_tables.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using Table = std::vector<std::byte>;

Table from_hexadecimal(std::string_view text) {
    Table bytes;
    for (size_t at = 0; at < text.size(); at += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(std::string(text.substr(at, 2)), nullptr, 16)));
    return bytes;
}

std::vector<std::optional<uint32_t>> lines_of(std::string_view text) {
    std::vector<std::optional<uint32_t>> lines;
    while (!text.empty()) {
        const std::string run(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(run.size() + 1, text.size()));
        const std::string line = run.substr(run.find('x') + 1);
        for (int count = std::stoi(run); count > 0; --count)
            lines.push_back(line == "-" ? std::nullopt
                                        : std::optional(static_cast<uint32_t>(std::stoul(line))));
    }
    return lines;
}

LineTable read(const CompiledTable& compiled) {
    return {{compiled.python_major, compiled.python_minor, compiled.first_line},
            from_hexadecimal(compiled.table)};
}

}  // namespace

TEST_CASE("every instruction has the line that the interpreter gives it") {
    for (const CompiledTable& compiled : kCompiledTables) {
        const LineTable table = read(compiled);
        const auto lines = lines_of(compiled.lines);
        INFO("3." << int{compiled.python_minor} << ", line " << compiled.first_line);
        for (uint32_t unit = 0; unit < lines.size(); ++unit) {
            INFO("unit " << unit);
            CHECK(table.line_at(unit * 2) == lines[unit]);
        }
    }
}

TEST_CASE("an instruction behind the code has no line, but where the format cannot tell") {
    for (const CompiledTable& compiled : kCompiledTables) {
        if (compiled.python_minor == 9) continue;  // the last range has no end there
        CHECK(read(compiled).line_at(60000) == std::nullopt);
    }
}

TEST_CASE("a table that ends within an entry, or is none, gives no line") {
    const auto none = [](uint8_t minor, std::string_view table, uint32_t instruction_bytes) {
        return LineTable({3, minor, 10}, from_hexadecimal(table)).line_at(instruction_bytes) == std::nullopt;
    };
    for (const uint8_t minor : {uint8_t{9}, uint8_t{10}, uint8_t{11}, uint8_t{12}, uint8_t{13}, uint8_t{14}})
        CHECK(none(minor, "00", 0));           // what stands for a table that did not fit
    CHECK(none(10, "0201", 2));                // ends before the instruction
    CHECK(none(10, "020102", 2));              // half a pair
    CHECK(none(11, "f0", 0));                  // a long entry without its numbers
    CHECK(none(11, "f07f", 0));                // a number that goes on behind the end
    CHECK(none(11, "f07f7f7f7f7f7f7f01", 0));  // a number of more than 32 bits
    CHECK(none(11, "01", 0));                  // an entry that does not begin
    CHECK(none(11, "", 0));
    CHECK(none(10, "02f6", 0) == false);  // line 0
    CHECK(none(10, "02f5", 0));           // line -1
}

TEST_CASE("what stands before the damage of a table keeps its lines") {
    const auto line = [](uint8_t minor, std::string_view table, uint32_t instruction_bytes) {
        return LineTable({3, minor, 10}, from_hexadecimal(table)).line_at(instruction_bytes);
    };
    CHECK(line(9, "020102", 0) == 10U);
    CHECK(line(9, "020102", 2) == std::nullopt);
    CHECK(line(10, "020102", 1) == 11U);
    CHECK(line(11, "e80201", 0) == 11U);
    CHECK(line(11, "e80201f0", 2) == std::nullopt);
    CHECK(line(9, "0201", UINT32_MAX) == 11U);
}

TEST_CASE("a version whose format is not known gives no line") {
    const Table table = from_hexadecimal("80009021");
    CHECK(LineTable({3, 12, 10}, table).line_at(0) == 10U);
    CHECK(LineTable({3, 8, 10}, table).line_at(0) == std::nullopt);
    CHECK(LineTable({3, 15, 10}, table).line_at(0) == std::nullopt);
    CHECK(LineTable({2, 12, 10}, table).line_at(0) == std::nullopt);
    CHECK(LineTable({0, 0, 10}, table).line_at(0) == std::nullopt);
}
