// SPDX-License-Identifier: Apache-2.0
//
// The pickle writer byte by byte: the shortest form of each value, batches, and what is written once.
#include "../../snapshot/pickle_writer.h"

#include <string>

#include "catch.h"

using memsnap::snapshot::PickleWriter;
using namespace std::string_literals;

namespace {

template <class F>
std::string pickled(F&& write) {
    std::string out;
    PickleWriter writer([&](std::string_view bytes) {
        out += bytes;
        return true;
    });
    write(writer);
    REQUIRE(writer.finish());
    REQUIRE(out.starts_with("\x80\x04"));
    REQUIRE(out.ends_with("."));
    return out.substr(2, out.size() - 3);
}

std::string number(uint64_t value) {
    return pickled([&](PickleWriter& writer) { writer.number(value); });
}
std::string negative(int64_t value) {
    return pickled([&](PickleWriter& writer) { writer.signed_number(value); });
}

}  // namespace

TEST_CASE("a number has the shortest form that holds it") {
    CHECK(number(0) == "K\0"s);
    CHECK(number(255) == "K\xff"s);
    CHECK(number(256) == "M\0\1"s);
    CHECK(number(65535) == "M\xff\xff"s);
    CHECK(number(65536) == "J\0\0\1\0"s);
    CHECK(number(0x7fffffff) == "J\xff\xff\xff\x7f"s);
    CHECK(number(0x80000000) == "\x8a\5\0\0\0\x80\0"s);
    CHECK(number(0x7fffffffff) == "\x8a\5\xff\xff\xff\xff\x7f"s);
    CHECK(number(0x8000000000) == "\x8a\6\0\0\0\0\x80\0"s);
    CHECK(number(0x7fffffffffffffff) == "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s);
    CHECK(number(0x8000000000000000) == "\x8a\x09\0\0\0\0\0\0\0\x80\0"s);
    CHECK(negative(-1) == "J\xff\xff\xff\xff"s);
    CHECK(negative(INT64_C(-2147483649)) == "\x8a\5\xff\xff\xff\x7f\xff"s);
    CHECK(negative(INT64_MIN) == "\x8a\x08\0\0\0\0\0\0\0\x80"s);
}

TEST_CASE("a text is written once and then referred to") {
    CHECK(pickled([](PickleWriter& writer) {
              writer.open_list();
              for (int round = 0; round < 3; ++round) {
                  writer.item();
                  writer.text("ab");
              }
              writer.close_list();
          }) == "](\x8c\2ab\x94h\0h\0e"s);
    const std::string large(256, 'x');
    CHECK(pickled([&](PickleWriter& writer) { writer.text(large); }) == "X\0\1\0\0"s + large + "\x94");
}

TEST_CASE("a reference beyond the 256th has the long form") {
    const std::string out = pickled([](PickleWriter& writer) {
        writer.open_list();
        for (int count = 0; count < 257; ++count) {
            writer.item();
            writer.text(std::to_string(count));
        }
        for (const char* const known : {"255", "256"}) {
            writer.item();
            writer.text(known);
        }
        writer.close_list();
    });
    CHECK(out.ends_with("h\xffj\0\1\0\0e"s));
}

TEST_CASE("a list is handed over in batches of a thousand, and an empty one without any") {
    const auto list_of = [](int count) {
        return pickled([&](PickleWriter& writer) {
            writer.open_list();
            for (int at = 0; at < count; ++at) {
                writer.item();
                writer.none();
            }
            writer.close_list();
        });
    };
    CHECK(list_of(0) == "]");
    CHECK(list_of(1000) == "](" + std::string(1000, 'N') + "e");
    CHECK(list_of(1001) == "](" + std::string(1000, 'N') + "e(Ne");
}

TEST_CASE("dictionaries, pairs, truth and fractions have their opcodes") {
    CHECK(pickled([](PickleWriter& writer) {
              writer.open_dictionary();
              writer.text("a");
              writer.boolean(true);
              writer.text("b");
              writer.boolean(false);
              writer.close_dictionary();
          }) == "}(\x8c\1a\x94\x88\x8c\1b\x94\x89u"s);
    CHECK(pickled([](PickleWriter& writer) { writer.pair(0, 7); }) == "K\0K\7\x86"s);
    CHECK(pickled([](PickleWriter& writer) { writer.real(0.8); }) == "G\x3f\xe9\x99\x99\x99\x99\x99\x9a"s);
}

TEST_CASE("the writing ends when nobody takes it any more") {
    PickleWriter writer([](std::string_view) { return false; });
    writer.none();
    CHECK(!writer.finish());
}
