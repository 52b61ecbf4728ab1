// SPDX-License-Identifier: Apache-2.0
//
// The event ledger: its rows, its check, and what a comparison with the recording names.
#include "check_ledger.h"
#include "csv_check.h"
#include "csv_rows.h"
#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string ledger_of(const Recording& recording) {
    std::string text;
    const auto complete = write_rows(*recording.capture, recording.analysis, [&](std::string_view lines) {
        text += lines;
        return true;
    });
    REQUIRE(complete);
    REQUIRE(*complete);
    return text;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::string cell(const std::string& line, Column column) {
    return std::string(cells_of(line).at(static_cast<size_t>(column)));
}

// The only row of a kind.
std::string row_of(const std::string& ledger, std::string_view kind, size_t which = 0) {
    for (const std::string& line : lines_of(ledger)) {
        if (cell(line, Column::kind) == kind && which-- == 0) return line;
    }
    FAIL("no row of the kind " << kind);
    return {};
}

std::string with_cell(const std::string& ledger, size_t row, Column column, std::string_view value) {
    std::vector<std::string> lines = lines_of(ledger);
    std::vector<std::string> cells;
    for (const std::string_view one : cells_of(lines.at(row)))
        cells.emplace_back(one);
    cells.at(static_cast<size_t>(column)) = value;
    std::string text;
    for (size_t at = 0; at < lines.size(); ++at) {
        std::string line = lines[at];
        if (at == row) {
            line.clear();
            for (const std::string& one : cells)
                line += (line.empty() && &one == &cells.front() ? "" : ",") + one;
        }
        text += line + "\n";
    }
    return text;
}

std::string problem_of(const Recording& recording, const std::string& ledger) {
    CsvCheck check(recording.capture->window);
    check.take_lines(ledger);
    return check.problem();
}

std::string compared(const Recording& recording, const std::string& ledger) {
    const std::string path = recording.folder.file("ledger.csv");
    std::ofstream(path, std::ios::binary) << ledger;
    const auto checked = check_ledger_file(*recording.capture, recording.analysis, path);
    if (checked) return "";
    CHECK(checked.error().code == ErrorCode::disagreed);
    return checked.error().detail;
}

constexpr std::string_view kJob = R"(memsnap-events 1
library_entry 2 role=program
segment s1 40MiB
segment s2 20MiB
mem_info total=1GiB free=900MiB
alloc a s1+0 10MiB site=7
note batch -3
phase begin forward
alloc b s1+10MiB 8MiB site=7
call nccl cudaMalloc 64MiB library=2
phase end
step
process_sample own=40MiB others=100MiB count=1
free a
free s2
failing 30MiB total=1GiB free=20MiB
)";

}  // namespace

TEST_CASE("a ledger has one row an event of the window, under the header") {
    const Recording recording(kJob);
    const auto lines = lines_of(ledger_of(recording));
    CHECK(lines.front() + "\n" == csv_header());
    CHECK(lines.size() == 1 + recording.capture->window.facts.accepted_count);
    CHECK(problem_of(recording, ledger_of(recording)).empty());
}

TEST_CASE("a block's rows name its allocation, segment, offset and site from birth to free") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    const std::string born = row_of(ledger, "block_alloc");
    const std::string freed = row_of(ledger, "block_free");
    CHECK(cell(born, Column::allocation) == cell(born, Column::ticket));
    CHECK(cell(freed, Column::allocation) == cell(born, Column::ticket));
    for (const Column same : {Column::segment, Column::offset_bytes, Column::size_bytes, Column::site}) {
        CHECK_FALSE(cell(born, same).empty());
        CHECK(cell(freed, same) == cell(born, same));
    }
    const std::string second = row_of(ledger, "block_alloc", 1);
    CHECK(cell(second, Column::offset_bytes) == std::to_string(10 * kMiB));
    CHECK(cell(second, Column::site) == cell(born, Column::site));
    CHECK(cell(second, Column::phase) == "1");
    CHECK(cell(second, Column::active_bytes) == std::to_string(18 * kMiB));
    CHECK(cell(second, Column::free_bytes) == std::to_string(42 * kMiB));
    CHECK(cell(freed, Column::allocated_bytes) == std::to_string(8 * kMiB));
    CHECK(cell(freed, Column::step) == "1");
}

TEST_CASE("a segment's free carries the number that its allocation got") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    const std::string made = row_of(ledger, "ok", 1);
    const std::string freed = row_of(ledger, "free");
    CHECK(cell(made, Column::segment) == "2");
    CHECK(cell(freed, Column::segment) == "2");
    CHECK(cell(freed, Column::allocation) == cell(made, Column::ticket));
}

TEST_CASE("notes, observations and samples have their values in their columns") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    CHECK(cell(row_of(ledger, "note"), Column::value) == "-3");
    CHECK(cell(row_of(ledger, "note"), Column::dimension) == "1");
    CHECK(cell(row_of(ledger, "mem_info"), Column::device_free_bytes) == std::to_string(900 * kMiB));
    CHECK(cell(row_of(ledger, "mem_info"), Column::outside_bytes) == std::to_string(124 * kMiB));
    CHECK(cell(row_of(ledger, "process_sample"), Column::others_bytes) == std::to_string(100 * kMiB));
    CHECK(cell(row_of(ledger, "fail"), Column::cause) == cell(row_of(ledger, "try_call", 3), Column::ticket));
}

TEST_CASE(
    "what the card should have free follows from the answer before, and an answer is compared with that") {
    const Recording recording(R"(memsnap-events 1
segment s1 40MiB
alloc a s1+0 10MiB
mem_info total=1GiB free=900MiB
process_sample own=40MiB others=50MiB count=1
device_sample total=1GiB free=900MiB
call nccl cudaMalloc 64MiB library=2
mem_info total=1GiB free=830MiB
free nccl
)");
    const std::string ledger = ledger_of(recording);
    const auto bytes = [](uint64_t number_MiB) { return std::to_string(number_MiB * kMiB); };
    const std::string first = row_of(ledger, "mem_info");
    CHECK(cell(first, Column::held_bytes) == bytes(40));
    CHECK(cell(first, Column::own_outside_bytes) == "0");
    for (const Column open :
         {Column::other_processes_bytes, Column::unattributed_bytes, Column::expected_free_bytes})
        CHECK(cell(first, open).empty());
    // r = 1024 - 900 - 40 = 84 MiB. No sample stands before that answer, so others are not taken off.
    const std::string sampled = row_of(ledger, "process_sample");
    CHECK(cell(sampled, Column::other_processes_bytes).empty());
    CHECK(cell(sampled, Column::unattributed_bytes) == bytes(84));
    CHECK(cell(row_of(ledger, "device_sample"), Column::expected_free_bytes) == bytes(900));
    // Now 34 MiB are left: 84 - 50. The library's 64 MiB are expected to be gone, and 6 MiB more were.
    const std::string second = row_of(ledger, "mem_info", 1);
    CHECK(cell(second, Column::own_outside_bytes) == bytes(64));
    CHECK(cell(second, Column::other_processes_bytes) == bytes(50));
    CHECK(cell(second, Column::unattributed_bytes) == bytes(34));
    CHECK(cell(second, Column::expected_free_bytes) == bytes(836));
    CHECK(cell(row_of(ledger, "free"), Column::expected_free_bytes) == bytes(894));
    CHECK(compared(recording, ledger).empty());
    CHECK(problem_of(recording, with_cell(ledger, 4, Column::expected_free_bytes, "5")) ==
          "row 4, expected_free_bytes: follows from no answer of the device");
}

TEST_CASE("a free has the class of what it ended, whatever its call frees") {
    const Recording recording(R"(memsnap-events 1
call buf cudaMallocManaged 2MiB library=2
end_context cudaDeviceReset buf
)");
    CHECK(cell(row_of(ledger_of(recording), "free"), Column::object) == "managed");
    CHECK(cell(row_of(ledger_of(recording), "free"), Column::op) == "cudaDeviceReset");
}

TEST_CASE("a library has the ordinal of the receipt, and one that the receipt does not name has 0") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    CHECK(cell(row_of(ledger, "ok", 2), Column::library) == "1");
    CHECK(cell(row_of(ledger, "ok"), Column::library) == "0");
}

TEST_CASE("no address, token or time of the recording is in its ledger") {
    const Recording recording(kFullJob);
    const std::string ledger = ledger_of(recording);
    CHECK(ledger.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,-\n") ==
          std::string::npos);
    recording.capture->window.events.for_each([&](const Event& event) {
        const bool placed = event.kind == Kind::block_alloc || event.kind == Kind::ok;
        if (placed) CHECK(ledger.find(std::to_string(event.address)) == std::string::npos);
        return true;
    });
}

TEST_CASE("the check of a ledger refuses what a column cannot hold") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::kind, "train.py")) ==
          "row 3, kind: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::op, "open")) ==
          "row 3, op: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::object, "tensor")) ==
          "row 3, object: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::size_bytes, "0x10")) ==
          "row 3, size_bytes: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::size_bytes, "007")) ==
          "row 3, size_bytes: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::nested, "2")) ==
          "row 3, nested: holds what no ledger has there");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::thread, "")) == "row 3, thread: is empty");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::value, "a,b")) ==
          "row 3: 43 columns instead of 42");
    CHECK(problem_of(recording, with_cell(ledger, 0, Column::site, "place")) ==
          "row 0, site: is not the column's name");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::ticket, "1")) ==
          "row 3, ticket: is not after the row before");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::cause, "999")) ==
          "row 3, cause: is not before the row");
    CHECK(problem_of(recording, with_cell(ledger, 3, Column::gradient_bytes, "1099511627776")) ==
          "row 3, parameter_bytes: and the other categories are more than what is active");
    CHECK(problem_of(recording, ledger.substr(0, ledger.size() - 1)).ends_with("does not end its line"));
}

TEST_CASE("the timeline of categories follows what was told of live blocks, wherever in them") {
    const Recording recording(R"(memsnap-events 1
segment s1 20MiB
alloc a s1+0 4MiB
category a gradient offset=4MiB-1
category a optimizer_state
free a
alloc b s1+0 4MiB
)");
    const std::string ledger = ledger_of(recording);
    const auto told = [&](const char* kind, Column column) { return cell(row_of(ledger, kind), column); };
    CHECK(told("category", Column::gradient_bytes) == "4194304");
    CHECK(told("category", Column::allocation) == "2");
    CHECK(told("category", Column::offset_bytes) == "0");
    CHECK(told("block_free", Column::optimizer_state_bytes) == "0");
    CHECK(compared(recording, ledger).empty());
}

TEST_CASE("an allocation that the recording does not know is named") {
    const Recording recording(kJob);
    const std::string ghost = with_cell(ledger_of(recording), 4, Column::allocation, "999");
    CHECK(problem_of(recording, ghost) == "row 4, allocation: 999 is no allocation of the recording");
    CHECK(compared(recording, ghost) == "row 4, allocation: 999 is no allocation of the recording");
}

TEST_CASE("objects older than the window are allocations of the recording") {
    const Recording recording(R"(memsnap-events 1
header ring_records=64
live segment s0 20MiB
live alloc w s0+0 10MiB
free w
)");
    const std::string ledger = ledger_of(recording);
    CHECK(cell(row_of(ledger, "block_free"), Column::allocation) == "1");
    CHECK(compared(recording, ledger).empty());
}

TEST_CASE("a ledger of its recording agrees; the first cell that differs is named with both values") {
    const Recording recording(kJob);
    const std::string ledger = ledger_of(recording);
    CHECK(compared(recording, ledger).empty());
    CHECK(compared(recording, with_cell(ledger, 6, Column::active_bytes, "5")) ==
          "row 6, active_bytes: the ledger says 5, the recording 10485760");
    CHECK(compared(recording, with_cell(ledger, 6, Column::offset_bytes, "")) ==
          "row 6, offset_bytes: the ledger says nothing, the recording 0");
    const auto lines = lines_of(ledger);
    CHECK(compared(recording, ledger.substr(0, ledger.size() - lines.back().size() - 1)) ==
          "row " + std::to_string(lines.size() - 1) + ": is missing or cut off");
    CHECK(compared(recording, ledger + lines.back() + "\n") ==
          "row " + std::to_string(lines.size()) + ": the recording has no such event");
    CHECK(compared(recording, "").starts_with("row 0"));
    CHECK(compared(Recording(kQuietJob), ledger).starts_with("row 1"));
}
