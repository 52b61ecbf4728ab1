// SPDX-License-Identifier: Apache-2.0
//
// What each data opcode makes, by pickles of a few bytes.
#include <string>

#include "catch.h"
#include "pickle_text.h"

using memsnap::snapshot::PickleInput;
using namespace memsnap::test;
using namespace std::string_literals;

namespace {

std::string read(std::string_view bytes) {
    return PickleText::of(bytes);
}

}  // namespace

TEST_CASE("the singletons of all protocols are read") {
    CHECK(read("N.") == "None");
    CHECK(read("\x88.") == "True");
    CHECK(read("\x89.") == "False");
    CHECK(read("I01\n.") == "True");
    CHECK(read("I00\n.") == "False");
}

TEST_CASE("integers of every opcode keep their sign and their size") {
    CHECK(read("I1\n.") == "1");
    CHECK(read("I-17\n.") == "-17");
    CHECK(read("L123L\n.") == "123");
    CHECK(read("L-9223372036854775808L\n.") == "-9223372036854775808");
    CHECK(read("L18446744073709551615L\n.") == "18446744073709551615");
    CHECK(read("L00000000000000000000000000000007L\n.") == "7");
    CHECK(read("J\xfe\xff\xff\xff.") == "-2");
    CHECK(read("K\xff.") == "255");
    CHECK(read("M\xff\xfe.") == "65279");
    CHECK(read("\x8a\x00."s) == "0");
    CHECK(read("\x8a\x01\xff.") == "-1");
    CHECK(read("\x8a\x02\xff\x00."s) == "255");
    CHECK(read("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s) == "-9223372036854775808");
    CHECK(read("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."s) == "9223372036854775808");
    CHECK(read("\x8b\x02\x00\x00\x00\x34\x12."s) == "4660");
}

TEST_CASE("an integer beyond 64 bits is only too large, however long it is") {
    CHECK(read("L18446744073709551616L\n.") == "huge");
    CHECK(read("L-9223372036854775809L\n.") == "huge");
    CHECK(read("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x01.") == "huge");
    CHECK(read("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x80."s) == "huge");
    CHECK(read("I" + std::string(3 << 20, '9') + "\n.") == "huge");
    CHECK(read("\x8b\x00\x00\x30\x00"s + std::string(3 << 20, 'x') + ".") == "huge");
}

TEST_CASE("numbers with a fraction are read from both spellings") {
    CHECK(read("F1.5\n.") == "1.500000");
    CHECK(read("F-2e3\n.") == "-2000.000000");
    CHECK(read("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s) == "1.500000");
}

TEST_CASE("texts of every opcode are read, with their escapes") {
    CHECK(read("S'a\\'b\\n\\x41\\101\\q'\n.") == "'a'b\nAA\\q'");
    CHECK(read("S\"it's\"\n.") == "'it's'");
    CHECK(read("V\\u20ac and \xe4 and \\U0001F600 and \\u005c\\n\n.") ==
          "'\u20ac and \u00e4 and \U0001F600 and \\\\n'");
    CHECK(read("T\x03\x00\x00\x00"
               "abc."s) == "'abc'");
    CHECK(read("U\x03"
               "abc.") == "'abc'");
    CHECK(read("X\x03\x00\x00\x00"
               "abc."s) == "'abc'");
    CHECK(read("\x8c\x03"
               "abc.") == "'abc'");
    CHECK(read("\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
               "abc."s) == "'abc'");
    CHECK(read("\x8c\x00."s) == "''");
}

TEST_CASE("a text longer than a piece of the file is passed over, and what follows is read") {
    const std::string long_text(5 << 20, 'x');
    CHECK(read("]X\x00\x00\x50\x00"s + long_text +
               "aK\x07"
               "a.") == "[long text, 7]");
    CHECK(read("]V" + long_text +
               "\naK\x07"
               "a.") == "[long text, 7]");
}

TEST_CASE("what lies across the border of two pieces of the file is whole") {
    for (size_t offset = PickleInput::kPiece_bytes - 24; offset < PickleInput::kPiece_bytes + 3; ++offset) {
        std::string bytes = offset % 2 == 0 ? ""
                                            : "K0"
                                              "0";
        while (bytes.size() < offset)
            bytes += "N0";
        INFO("offset " << offset);
        CHECK(read(bytes + "(\x8c\x08"
                           "ABCDEFGHVabc\nM\x01\x02t.") == "('ABCDEFGH', 'abc', 513)");
    }
}

TEST_CASE("bytes and sets are read over") {
    CHECK(read("](C\x02"
               "abB\x02\x00\x00\x00"
               "ab\x8e\x02\x00\x00\x00\x00\x00\x00\x00"
               "abe."s) == "[bytes, bytes, bytes]");
    CHECK(read("\x96\x02\x00\x00\x00\x00\x00\x00\x00"
               "ab."s) == "bytes");
    CHECK(read("\x8f(K\x01K\x02\x90.") == "set");
    CHECK(read("(K\x01K\x02\x91.") == "set");
}

TEST_CASE("lists, tuples and dictionaries are made by every opcode that makes them") {
    CHECK(read("].") == "[]");
    CHECK(read("(l.") == "[]");
    CHECK(read("(K\x01K\x02l.") == "[1, 2]");
    CHECK(read("]K\x01"
               "aK\x02"
               "a.") == "[1, 2]");
    CHECK(read("](K\x01K\x02"
               "e(K\x03"
               "e.") == "[1, 2, 3]");
    CHECK(read(").") == "()");
    CHECK(read("(t.") == "()");
    CHECK(read("(K\x01K\x02K\x03t.") == "(1, 2, 3)");
    CHECK(read("N\x85.") == "(None)");
    CHECK(read("K\x01K\x02\x86.") == "(1, 2)");
    CHECK(read("K\x01J\xff\xff\xff\xff\x86.") == "(1, -1)");
    CHECK(read("K\x01K\x02N\x87.") == "(1, 2, None)");
    CHECK(read("}.") == "{}");
    CHECK(read("(U\x01"
               "aK\x01"
               "d.") == "{'a', 1}");
    CHECK(read("}U\x01"
               "aK\x01s.") == "{'a', 1}");
    CHECK(read("}(U\x01"
               "aK\x01U\x01"
               "b]u(U\x01"
               "c}u.") == "{'a', 1, 'b', [], 'c', {}}");
}

TEST_CASE("the memo gives back what was put there, by every opcode, while it is filled and later") {
    CHECK(read("]p0\nK\x01"
               "a0g0\n.") == "[1]");
    CHECK(read("]q\x05K\x01"
               "a0h\x05."s) == "[1]");
    CHECK(read("]r\x05\x01\x00\x00K\x01"
               "a0j\x05\x01\x00\x00."s) == "[1]");
    CHECK(read("]\x94\x8c\x01x\x94"
               "ah\x01"
               "ah\x00K\x02"
               "a."s) == "['x', 'x', 2]");
    CHECK(read("](]\x94K\x01"
               "ah\x00h\x00"
               "e."s) == "[[1], [1], [1]]");
    CHECK(read("](}\x94(K\x01Nu}h\x00"
               "e."s) == "[{1, None}, {}, {1, None}]");
    CHECK(read("]q\x03"
               "0}q\x03"
               "0h\x03.") == "{}");
}

TEST_CASE("the stack's own opcodes drop and double values") {
    CHECK(read("K\x01K\x02"
               "0.") == "1");
    CHECK(read("K\x01(K\x02K\x03"
               "1.") == "1");
    CHECK(read("K\x01(0.") == "1");
    CHECK(read("]K\x01"
               "2\x86"
               "a.") == "[(1, 1)]");
    CHECK(read("]2K\x01"
               "a0.") == "[1]");
}

TEST_CASE(
    "a million dictionaries behind each other on the stack are each complete before the list takes them") {
    std::string bytes = "](";
    for (int i = 0; i < 3; ++i)
        bytes +=
            "}(U\x01"
            "k"
            "K\x01u";
    CHECK(read(bytes + "e.") == "[{'k', 1}, {'k', 1}, {'k', 1}]");
}

TEST_CASE("protocol, frames and bytes behind the end change nothing") {
    CHECK(read("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00N.rest"s) == "None");
    CHECK(read("\x80\x05N.") == "None");
}
