// SPDX-License-Identifier: Apache-2.0
#include "cpu.h"

#include <cstring>

#include "catch.h"
#include "ring_view.h"

using namespace memsnap::recorder;

namespace {

using Step = uint32_t (*)(uint32_t, uint64_t, unsigned);

uint32_t crc_of(const char* text, Step step) {
    uint32_t state = ~0U;
    size_t size = std::strlen(text);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t word = 0;
        std::memcpy(&word, text + i, 4);
        state = step(state, word, 4);
    }
    return ~state;
}

}  // namespace

TEST_CASE("CRC32C of the published vector: 32 zero bytes") {
    uint32_t state = ~0U;
    for (int i = 0; i < 4; ++i) {
        state = crc32c_table(state, 0, 8);
    }
    CHECK(~state == 0x8a9136aaU);
}

TEST_CASE("The instruction and the table compute the same CRC32C") {
    if (!has_crc_instruction()) return;  // nothing to compare on such a processor
    CHECK(crc_of("a record of a ring, 32 bytes lon", crc32c_instruction) ==
          crc_of("a record of a ring, 32 bytes lon", crc32c_table));
    CHECK(crc32c_instruction(0x12345678, 0xfedcba9876543210, 8) ==
          crc32c_table(0x12345678, 0xfedcba9876543210, 8));
}

TEST_CASE(
    "A record's check covers its seq and all bytes after the check, an entry's all between state and check") {
    uint64_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto* bytes = reinterpret_cast<const unsigned char*>(words);
    using memsnap::test::crc32c;
    for (bool instruction : {false, true}) {
        if (instruction) choose_cpu_features();
        CHECK(record_check(words) == crc32c(bytes + 12, 52, crc32c(bytes, 8)));
        CHECK(entry_check(words) == crc32c(bytes + 8, 52));
    }
}

TEST_CASE("The raw counter does not run backwards on one thread") {
    choose_cpu_features();
    uint64_t previous = read_counter();
    for (int i = 0; i < 1000; ++i) {
        uint64_t now = read_counter();
        REQUIRE(now >= previous);
        previous = now;
    }
}
