// SPDX-License-Identifier: Apache-2.0
//
// Functions by the symbol table of this very program, found as a recorder would have told it.
#include "native_symbols.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "catch.h"
#include "loaded_object.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

// In the symbol table, demangled.
namespace memsnap::test {
[[gnu::noinline]] int a_function_of_this_test(int value) {
    return value * 3;
}
}  // namespace memsnap::test

namespace {

LoadedObject this_program() {
    return loaded("");
}

uint64_t a_place() {
    return reinterpret_cast<uint64_t>(&a_function_of_this_test) + 1;
}

constexpr const char* kName = "memsnap::test::a_function_of_this_test(int)";

}  // namespace

TEST_CASE("an address in a function has its demangled name") {
    CHECK(a_function_of_this_test(2) == 6);
    NativeSymbols symbols;
    CHECK(symbols.function_at(this_program(), a_place()) == kName);
    CHECK(symbols.function_at(this_program(), this_program().bias).empty());
    CHECK(symbols.function_at(this_program(), ~uint64_t{0}).empty());
}

TEST_CASE("a file of another build, or none, gives no name") {
    LoadedObject other = this_program();
    other.build_id.back() ^= std::byte{1};
    CHECK(NativeSymbols().function_at(other, a_place()).empty());
    LoadedObject untold = this_program();
    untold.build_id.clear();
    CHECK(NativeSymbols().function_at(untold, a_place()).empty());
    for (const char* const path : {"", "/nowhere/lib.so", "/dev/null", "/"}) {
        LoadedObject missing = this_program();
        missing.path = path;
        CHECK(NativeSymbols().function_at(missing, a_place()).empty());
    }
}

TEST_CASE("what is no regular file is not opened") {
    const Folder folder;
    LoadedObject object = this_program();
    object.path = folder.file("pipe");
    REQUIRE(::mkfifo(object.path.c_str(), 0600) == 0);
    const int opens = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    REQUIRE(opens >= 0);
    REQUIRE(::inotify_add_watch(opens, object.path.c_str(), IN_OPEN) >= 0);
    CHECK(NativeSymbols().function_at(object, a_place()).empty());
    inotify_event event;
    CHECK(::read(opens, &event, sizeof event) == -1);
    ::close(opens);
}

TEST_CASE("a library that has only its dynamic symbols is read by those") {
    CHECK(NativeSymbols().function_at(loaded("/libc.so.6"), reinterpret_cast<uint64_t>(&::qsort)) == "qsort");
}

TEST_CASE("a file that ends early, or is damaged anywhere in its tables, gives a name or none") {
    const Folder folder;
    LoadedObject object = loaded("/libc.so.6");
    std::ifstream in(object.path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    object.path = folder.file("damaged");
    for (size_t round = 0; round < 90; ++round) {
        std::string bytes = whole;
        if (round % 3 == 0) bytes.resize(whole.size() * round / 90);
        // The header, then the section headers at the end.
        if (round % 3 == 1) bytes[round * 2 / 3] ^= static_cast<char>(0x5A);
        if (round % 3 == 2) bytes[bytes.size() - 1 - round * 47] ^= static_cast<char>(0x5A);
        std::ofstream(object.path, std::ios::binary | std::ios::trunc) << bytes;
        CHECK_NOTHROW(NativeSymbols().function_at(object, reinterpret_cast<uint64_t>(&::qsort)));
    }
}
