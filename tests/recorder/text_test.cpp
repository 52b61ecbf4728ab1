// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "catch.h"

using namespace memsnap::recorder;

namespace {

std::string utf8(uint32_t character) {
    unsigned char bytes[kLongestCharacter_bytes];
    const size_t size_bytes = write_utf8(character, bytes);
    CHECK(size_bytes == utf8_size(character));
    return {reinterpret_cast<const char*>(bytes), size_bytes};
}

}  // namespace

TEST_CASE("Characters of each size become UTF-8") {
    CHECK(utf8('a') == "a");
    CHECK(utf8(0x7f) == "\x7f");
    CHECK(utf8(0x80) == "\xc2\x80");
    CHECK(utf8(0x7ff) == "\xdf\xbf");
    CHECK(utf8(0x800) == "\xe0\xa0\x80");
    CHECK(utf8(0xd7ff) == "\xed\x9f\xbf");
    CHECK(utf8(0xe000) == "\xee\x80\x80");
    CHECK(utf8(0xffff) == "\xef\xbf\xbf");
    CHECK(utf8(0x10000) == "\xf0\x90\x80\x80");
    CHECK(utf8(0x10ffff) == "\xf4\x8f\xbf\xbf");
}

TEST_CASE("What UTF-8 cannot say becomes the replacement character") {
    for (uint32_t character : {0xd800u, 0xdfffu, 0x110000u, 0xffffffffu}) {
        CHECK(utf8(character) == "\xef\xbf\xbd");
    }
}

TEST_CASE("A text is cut in front of the character that does not fit") {
    const std::string text = "a\xc3\xa9\xe2\x82\xacz";  // of 1, 2, 3 and 1 bytes
    const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 7, 7};
    for (size_t limit = 0; limit < std::size(expected); ++limit) {
        CHECK(whole_characters(text.data(), text.size(), limit) == expected[limit]);
    }
}

TEST_CASE("Settings that were told answer before the environment, until none are told") {
    setenv("MEMSNAP_TEST_TOLD", "environment", 1);
    const char told[] = "MEMSNAP_TEST_TOLD=told\0MEMSNAP_TEST_OTHER=";
    REQUIRE(override_environment(told, sizeof told));
    CHECK(environment_is("MEMSNAP_TEST_TOLD", "told"));
    CHECK(environment_is("MEMSNAP_TEST_OTHER", ""));
    for (const char* broken : {"no value", "=nameless"}) {
        CHECK_FALSE(override_environment(broken, std::strlen(broken) + 1));
    }
    CHECK_FALSE(override_environment("MEMSNAP_TEST_TOLD=unended", 25));
    CHECK_FALSE(override_environment(std::string(10000, 'A').c_str(), 10001));
    CHECK(environment_is("MEMSNAP_TEST_TOLD", "told"));
    REQUIRE(override_environment(nullptr, 0));
    CHECK(environment_is("MEMSNAP_TEST_TOLD", "environment"));
    CHECK(environment("MEMSNAP_TEST_OTHER") == nullptr);
}
