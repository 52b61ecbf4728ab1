// SPDX-License-Identifier: Apache-2.0
//
// What of a name reaches the terminal, and how wide it is there.
#include "shown_text.h"

#include "catch.h"

using namespace memsnap;

TEST_CASE("letters of any script are shown where the output is UTF-8, else each byte is escaped") {
    CHECK(shown_text("modèle 学习.py", Letters::utf8) == "modèle 学习.py");
    CHECK(shown_text("è", Letters::ascii) == "\\xc3\\xa8");
    CHECK(shown_text("model.py", Letters::ascii) == "model.py");
}

TEST_CASE("controls, marks of direction and separators of lines are escaped in every output") {
    for (const char* hidden : {"\x1b", "\x7f", "\n", "\u0085", "\u061c", "\u200e", "\u200f", "\u2028",
                               "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
        const std::string shown = shown_text(hidden, Letters::utf8);
        INFO(shown);
        CHECK(shown.starts_with("\\x"));
        CHECK(shown == shown_text(hidden, Letters::ascii));
    }
    for (const char* letter : {" ", "~", "\u00a0", "\u200d", "\u2027", "\u2030", "\u2065", "\u206a"})
        CHECK(shown_text(letter, Letters::utf8) == letter);
}

TEST_CASE("bytes that are no UTF-8 are escaped one by one") {
    CHECK(shown_text("a\xff\xc3", Letters::utf8) == "a\\xff\\xc3");
    CHECK(shown_text("\xed\xa0\x80", Letters::utf8) == "\\xed\\xa0\\x80");
}

TEST_CASE("a text is cut between letters, by columns") {
    CHECK(columns_of("créer") == 5);
    CHECK(columns_of("学习") == 4);
    CHECK(cut_to_columns("créer", 5) == "créer");
    CHECK(cut_to_columns("créer", 4) == "cr..");
    CHECK(cut_to_columns("ééééé", 4) == "éé..");
    CHECK(cut_to_columns("学学学", 5) == "学..");
    CHECK(cut_to_columns("créer", 1) == ".");
    CHECK(cut_to_columns("créer", 0).empty());
}

TEST_CASE("what is cut in the middle keeps its begin and more of its end, and never takes more columns") {
    CHECK(cut_in_the_middle("job/ring.bin", 12) == "job/ring.bin");
    CHECK(cut_in_the_middle("some/folder/ring.bin", 11) == "som..ng.bin");
    CHECK(cut_in_the_middle("学学学学学学", 8) == "学..学学");
    CHECK(cut_in_the_middle("a学学学学学", 9) == "a..学学");
    CHECK(cut_in_the_middle("créer", 2) == "..");
    CHECK(cut_in_the_middle("créer", 1) == ".");
    CHECK(cut_in_the_middle("créer", 0).empty());
}
