// SPDX-License-Identifier: Apache-2.0
//
// A log read in pieces: where a message stands in it, and what other writers print between its lines, changes
// nothing of what the message says.
#include "triage_scan.h"

#include <algorithm>
#include <string>

#include "catch.h"

using namespace memsnap;

namespace {

constexpr std::string_view kFirst =
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total "
    "capacity of 80.00 GiB of which 1.00 GiB is free.\n";
constexpr std::string_view kSecond =
    "[rank0]: Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of the allocated "
    "memory 77.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated. If "
    "reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True\n";

std::string filled(std::string_view line, size_t bytes) {
    std::string text;
    while (text.size() < bytes)
        text += line;
    return text;
}

std::string of_others(size_t bytes) {
    return filled("[rank1]: step 17 loss 0.25 tokens per second 18123\n", bytes);
}

LogFindings scanned(std::string_view log, size_t piece_bytes = 1 << 16) {
    LogScanner scanner;
    for (; !log.empty(); log.remove_prefix(std::min(log.size(), piece_bytes)))
        scanner.feed(log.substr(0, piece_bytes));
    return scanner.finish();
}

const LogMessage& only(const LogFindings& found) {
    REQUIRE(found.messages.size() == 1);
    CHECK(found.unrecognised.empty());
    return found.messages.front();
}

}  // namespace

TEST_CASE("a message in two lines, others' lines between, is whole wherever it stands in the log") {
    const std::string message = std::string(kFirst) + of_others(13'000) + std::string(kSecond);
    const LogFindings alone = scanned(message);
    CHECK(only(alone).complete);
    for (size_t before = 0; before < 140'000; before += 1'700) {
        for (const size_t behind : {0, 100'000}) {
            CAPTURE(before, behind);
            const LogFindings found = scanned(of_others(before) + message + of_others(behind));
            CHECK(only(found).complete);
            CHECK(only(found).same_numbers(only(alone)));
            CHECK(only(found).quote == only(alone).quote);
        }
    }
}

TEST_CASE("a message that names three hundred processes is whole wherever it stands in the log") {
    std::string message(kFirst);
    message += filled("[rank0]: Process 1234567 has 1.00 MiB memory in use.\n", 300 * 53);
    message += kSecond;
    for (size_t before = 0; before < 140'000; before += 3'100) {
        CAPTURE(before);
        const LogFindings found = scanned(of_others(before) + message + of_others(100'000));
        CHECK(only(found).complete);
        CHECK(only(found).processes.size() == 300);
    }
}

TEST_CASE("a table between others' lines is whole wherever it stands in the log") {
    std::string table = "[rank0]: |  PyTorch CUDA memory summary, device ID 0  |\n";
    for (const std::string_view row :
         {"CUDA OOMs: 1", "Allocated memory | 61440 MiB", "Active memory | 61440 MiB",
          "GPU reserved memory | 79872 MiB", "Non-releasable memory | 1 KiB"}) {
        table += of_others(4'000) + "[rank0]: | " + std::string(row) + " |\n";
    }
    for (size_t before = 0; before < 140'000; before += 3'100) {
        CAPTURE(before);
        const LogFindings found = scanned(of_others(before) + table + of_others(100'000));
        REQUIRE(found.statistics.size() == 1);
        CHECK(found.statistics.front().reserved.known());
        CHECK(found.statistics.front().inactive.known());
    }
}

TEST_CASE("pieces of any size find the same, also of a message longer than a recogniser looks ahead") {
    for (const size_t between : {13'000, 300'000, 600'000}) {
        const std::string log =
            of_others(60'000) + std::string(kFirst) + of_others(between) + std::string(kSecond);
        const LogFindings whole = scanned(log, log.size());
        CHECK(only(whole).complete == (between == 13'000));
        for (const size_t piece_bytes : {101, 4'099, 65'536, 200'000}) {
            CAPTURE(between, piece_bytes);
            const LogFindings pieces = scanned(log, piece_bytes);
            CHECK(only(pieces).same_numbers(only(whole)));
            CHECK(only(pieces).complete == only(whole).complete);
            CHECK(only(pieces).quote == only(whole).quote);
        }
    }
}

TEST_CASE("a message whose phrase ends a line goes on in its writer's next line") {
    const LogFindings found = scanned(
        "[rank0]: CUDA out of memory. Tried to allocate\n[rank1]: 7.00 GiB. GPU 1 is busy\n[rank0]: 4.00 "
        "GiB. GPU 0 "
        "has a total capacity of 80.00 GiB of which 1.00 GiB is free.\n");
    CHECK(only(found).device == 0);
    CHECK(only(found).asked.low <= 4ULL << 30);
    CHECK(only(found).asked.high >= 4ULL << 30);
}
