// SPDX-License-Identifier: Apache-2.0
//
// Remembered values: made once, unless there are too many.
#include "remembered.h"

#include <string>

#include "catch.h"

namespace memsnap::test {

struct Text {
    std::string text;
};
inline uint64_t memory_bytes(const Text& value) {
    return value.text.size();
}

}  // namespace memsnap::test

using namespace memsnap;
using memsnap::test::Text;

namespace {

struct Source {
    Remembered<int, Text> remembered{10000};
    int made_count = 0;

    std::string text(int key, size_t size_bytes = 1000) {
        const auto make = [&] {
            ++made_count;
            return Text{std::string(size_bytes, static_cast<char>('a' + key % 26))};
        };
        return remembered.get(key, make).text;
    }
};

}  // namespace

TEST_CASE("a value is made once, when it is first asked for") {
    Source source;
    CHECK(source.text(1) == std::string(1000, 'b'));
    CHECK(source.text(1) == std::string(1000, 'b'));
    CHECK(source.text(2) == std::string(1000, 'c'));
    CHECK(source.made_count == 2);
}

TEST_CASE("no more is held than fits, and what was forgotten is made again") {
    Source source;
    for (int key = 0; key < 1000; ++key) {
        CHECK(source.text(key).front() == 'a' + key % 26);
        CHECK(source.remembered.used_bytes() <= 10000);
        CHECK(source.remembered.used_bytes() >= 1000);
    }
    CHECK(source.made_count == 1000);
    CHECK(source.text(0) == std::string(1000, 'a'));
    CHECK(source.made_count == 1001);
}

TEST_CASE("a value that is too large for all the room is still given") {
    Source source;
    CHECK(source.text(1, 50000).size() == 50000);
    CHECK(source.text(2).size() == 1000);
    CHECK(source.remembered.used_bytes() < 10000);
}
