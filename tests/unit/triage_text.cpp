// SPDX-License-Identifier: Apache-2.0
//
// Letters of a log: what stands between them is no part of a phrase, and a printed number is an interval.
#include "triage_text.h"
#include "catch.h"
#include "triage_normalise.h"
#include "triage_phrase.h"
#include "triage_prefix.h"

using namespace memsnap;

namespace {

TightText tight(std::string_view log, size_t piece_bytes = SIZE_MAX) {
    TightText text;
    LogNormaliser normaliser;
    for (; !log.empty(); log.remove_prefix(std::min(log.size(), piece_bytes)))
        normaliser.feed(log.substr(0, piece_bytes), false, text);
    normaliser.feed({}, true, text);
    return text;
}

std::string letters(std::string_view log) {
    return std::string(tight(log).letters());
}

Measure size(std::string_view printed) {
    const TightText text = tight(printed);
    return LogCursor(text, 0).size().value_or(Measure::observed(12345));
}

}  // namespace

TEST_CASE("a printed size is all that rounds to it") {
    CHECK(size("2.00 KiB") == Measure::between(2043, 2053));
    CHECK(size("1 KiB") == Measure::between(512, 1536));
    CHECK(size("512 bytes") == Measure::observed(512));
    CHECK(size("6727663616B") == Measure::observed(6727663616));
    CHECK(size("0.00 MB") == Measure::between(0, 5242));
    CHECK(size("10.371208 GiB") == Measure::between(11135999259, 11136000331));
    CHECK(size("18446744073709551615 bytes") == Measure::observed(UINT64_MAX));
}

TEST_CASE("a size beyond 64 bits is unknown, and what has no unit is none") {
    CHECK(size("17179869184.00 GiB") == Measure{});
    CHECK(size("99999999999999999999 B") == Measure{});
    CHECK(size("2.00") == Measure::observed(12345));
    CHECK(size("2.") == Measure::observed(12345));
    CHECK(size("999999999999999999999999999999 GiB") == Measure::observed(12345));
}

TEST_CASE("a cell of the table is cut off, not rounded") {
    const TightText text = tight("22960 MiB|5 B|");
    LogCursor cursor(text, 0);
    CHECK(cursor.cell() == Measure::between(22960ULL << 20, (22961ULL << 20) - 1));
    CHECK(cursor.take("|"));
    CHECK(cursor.cell() == Measure::observed(5));
}

TEST_CASE("colour, markup, escapes and what is no ASCII leave no letters") {
    CHECK(letters("a\x1b[1;31mb\x1b]0;title\x07"
                  "c[0md") == "abcd");
    CHECK(letters("a &gt;&amp;gt; b<br/>c<span class=\"x\">d</span><stderr>") == "a>>bcd<stderr>");
    CHECK(letters(R"(a\nb\\nc\"d\u001b[31me\u003e)") == "abc\"de>");
    CHECK(letters("a\xc2\xa0\xe2\x94\x82\x01z") == "az");
}

TEST_CASE("pieces of any size give the same letters and places") {
    const std::string log = "[rank7]: a\x1b[1;31mb &gt; c\\u001b[0md\r\n3: e\rf<br/>g";
    const TightText whole = tight(log);
    for (size_t piece_bytes = 1; piece_bytes < log.size(); ++piece_bytes) {
        const TightText pieces = tight(log, piece_bytes);
        REQUIRE(pieces.letters() == whole.letters());
        for (size_t at = 0; at < whole.size(); ++at) {
            REQUIRE(pieces.offset_bytes(at) == whole.offset_bytes(at));
            REQUIRE(pieces.run_of(at).line == whole.run_of(at).line);
            REQUIRE(pieces.label(pieces.run_of(at).label) == whole.label(whole.run_of(at).label));
        }
    }
}

TEST_CASE("a prefix names the writer and takes no word of the message") {
    const auto label = [](std::string_view line) { return line_prefix(line).label; };
    CHECK(label("[rank3]: x").rank == 3);
    CHECK(label("[1,17]<stdout>:x").rank == 17);
    CHECK(label("[2026-01-02 03:04:05,678] [INFO] [rank 3] x").rank == 3);
    CHECK(label("(EngineCore_DP0 pid=123) x").process_id == 123);
    CHECK(label("12: x").rank == 12);
    for (const std::string_view line : {"12.53 GiB reserved", "(GPU 0; 1 GiB", "0 bytes free",
                                        "[A][Stream 0x1]", "| Allocated memory", "rank and file"}) {
        CHECK(line_prefix(line).length_bytes == 0);
    }
}

TEST_CASE("a cursor passes over lines of other writers, and not over those of nobody") {
    const TightText text = tight("[rank0]: ab\n[rank1]: xy\ncd\n[rank1]: z\n[rank0]: e\n");
    LogCursor cursor(text, 0);
    CHECK(cursor.take("abcde"));
    CHECK(cursor.peek() == '\0');
    LogCursor other(text, 2);
    CHECK(other.take("xycdz"));
}

TEST_CASE("letters in front go away without changing the places of the others") {
    TightText text = tight("one\ntwo\nthree\n");
    text.drop_front(4);
    CHECK(text.letters() == "wothree");
    CHECK(text.run_of(0).line == 2);
    CHECK(text.run_of(2).line == 3);
    CHECK(text.offset_bytes(2) == 8);
}

TEST_CASE("all phrases are found at once, also where one ends inside another") {
    const PhraseFinder finder;
    const auto phrases = [&](std::string_view text) {
        std::vector<LogPhrase> found;
        PhraseFinder::State state = 0;
        for (const char letter : text) {
            state = finder.step(state, letter);
            if (finder.phrase(state) != LogPhrase::none) found.push_back(finder.phrase(state));
        }
        return found;
    };
    CHECK(phrases("outofmemoryerror:CUDAOutOfMemory.Triedtoallocate") ==
          std::vector{LogPhrase::out_of_memory, LogPhrase::host_memory, LogPhrase::out_of_memory,
                      LogPhrase::tried_to_allocate});
    CHECK(phrases("outofmemor outofmemoutofmemory") == std::vector{LogPhrase::out_of_memory});
    CHECK(phrases("nothing at all") == std::vector<LogPhrase>{});
}
