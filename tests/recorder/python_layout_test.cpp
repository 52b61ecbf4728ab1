// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <array>

#include "catch.h"
#include "python_api.h"
#include "python_layout.h"

namespace recorder = memsnap::recorder;
using recorder::LayoutSearch;

namespace {

constexpr uint32_t kPython313 = 31300;
constexpr uint64_t kHex313 = 0x030d00f0;

// What _PyRuntime of CPython 3.13.0 begins with.
std::array<uint64_t, 128> runtime_of_313() {
    std::array<uint64_t, 128> words{};
    memcpy(words.data(), "xdebugpy", 8);
    words[1] = kHex313;
    const uint64_t offsets[][2] = {{23, 72},  {29, 8},   {30, 0},   {31, 56}, {32, 72},  {33, 70},
                                   {35, 112}, {37, 128}, {38, 136}, {39, 68}, {43, 200}, {45, 8},
                                   {47, 24},  {65, 16},  {66, 32},  {68, 32}, {69, 16},  {70, 40}};
    for (const auto& [index, offset] : offsets) {
        words[index] = offset;
    }
    return words;
}

LayoutSearch search(uint32_t version, const void* runtime) {
    recorder::PythonLayout layout{};
    return recorder::find_python_layout(version, runtime, layout);
}

}  // namespace

TEST_CASE("From 3.13 on the interpreter's own description is read") {
    recorder::PythonLayout layout{};
    const auto words = runtime_of_313();
    REQUIRE(recorder::find_python_layout(kPython313, words.data(), layout) == LayoutSearch::found);
    CHECK(layout.version == 0x030d);
    CHECK(layout.thread_frame == 72);
    CHECK(layout.code_first_traceable == 184);
    CHECK(layout.other_characters == 56);
}

TEST_CASE("A description that is not of the running version, or not one, is no layout") {
    CHECK(search(kPython313, nullptr) == LayoutSearch::unknown);
    auto words = runtime_of_313();
    words[0] ^= 1;
    CHECK(search(kPython313, words.data()) == LayoutSearch::unknown);
    words = runtime_of_313();
    words[1] = 0x030e00f0;
    CHECK(search(kPython313, words.data()) == LayoutSearch::unknown);
}

TEST_CASE("A description with an offset that cannot be is no layout") {
    auto words = runtime_of_313();
    words[35] = uint64_t{1} << 32;
    CHECK(search(kPython313, words.data()) == LayoutSearch::unknown);
    words = runtime_of_313();
    words[45] = 16;  // where objects have their type never changed
    CHECK(search(kPython313, words.data()) == LayoutSearch::unknown);
    words = runtime_of_313();
    words[43] = 8;
    CHECK(search(kPython313, words.data()) == LayoutSearch::unknown);
}

TEST_CASE("A build without a GIL is told by its description and by its version text") {
    auto words = runtime_of_313();
    words[2] = 1;
    CHECK(search(kPython313, words.data()) == LayoutSearch::threaded);
    CHECK(recorder::is_free_threaded("3.13.0 experimental free-threading build (main, Oct  7 2024)"));
    CHECK(recorder::is_free_threaded("3.14.0 free-threading build (main, Oct  7 2025)"));
    CHECK_FALSE(recorder::is_free_threaded("3.13.0 (main, Oct  7 2024, 05:02:14) [GCC 12.2.0]"));
}

TEST_CASE("Versions outside 3.9 to 3.14 have no layout") {
    const auto words = runtime_of_313();
    for (uint32_t version : {0u, 20718u, 30820u, 31500u, 40000u}) {
        CHECK(search(version, words.data()) == LayoutSearch::unknown);
    }
    for (uint32_t version : {30900u, 30918u, 31013u, 31107u, 31299u}) {
        CHECK(search(version, nullptr) == LayoutSearch::found);
    }
}

TEST_CASE("The version is read from the interpreter's text") {
    CHECK(recorder::parse_python_version("3.11.7 (main, Dec  4 2023)") == 31107);
    CHECK(recorder::parse_python_version("3.14.0rc1 (main)") == 31400);
    CHECK(recorder::parse_python_version("3.13.0+ (heads/3.13)") == 31300);
    CHECK(recorder::parse_python_version("") == 0);
    CHECK(recorder::parse_python_version("three") == 0);
    CHECK(recorder::parse_python_version("3.11") == 0);
}
