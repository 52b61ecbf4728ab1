// SPDX-License-Identifier: Apache-2.0
#include "frame_rules.h"

#include <sys/mman.h>

#include "catch.h"

using namespace memsnap::recorder;

TEST_CASE("A walk is the same while each word that it read is, and the rules are") {
    uint64_t stack[6] = {10, 11, 12, 13, 14, 15};
    WordsRead read;
    read.begin(7);
    read.add(&stack[1], 11);
    read.add(&stack[0], 10);
    read.add(&stack[4], 14);
    REQUIRE(read.is_whole());
    CHECK(read.is_same(&stack[0], 7));
    CHECK_FALSE(read.is_same(&stack[0], 8));
    CHECK_FALSE(read.is_same(&stack[1], 7));
    for (int index : {0, 1, 4}) {
        ++stack[index];
        CHECK_FALSE(read.is_same(&stack[0], 7));
        --stack[index];
    }
    ++stack[2];
    CHECK(read.is_same(&stack[0], 7));
}

TEST_CASE("What lies behind a word that has changed is not read") {
    constexpr size_t kPage_bytes = 4096;
    void* page = mmap(nullptr, kPage_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    uint64_t frame[2] = {0, 1};
    WordsRead read;
    read.begin(0);
    read.add(&frame[1], 1);
    read.add(static_cast<uint64_t*>(page), 2);
    frame[1] = 3;
    CHECK_FALSE(read.is_same(frame, 0));
    munmap(page, kPage_bytes);
}

TEST_CASE("A walk that read nothing, or more than can be kept, is not recalled") {
    static uint64_t stack[1000];
    WordsRead read;
    read.begin(0);
    CHECK_FALSE(read.is_whole());
    for (uint64_t& word : stack) {
        read.add(&word, word);
    }
    CHECK_FALSE(read.is_whole());
    read.begin(0);
    read.add(&stack[1], 0);
    CHECK(read.is_whole());
}
