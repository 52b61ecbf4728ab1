// SPDX-License-Identifier: Apache-2.0
#include "interned.h"

#include <atomic>
#include <thread>
#include <vector>

#include "catch.h"

using namespace memsnap::recorder;

namespace {

struct Set {
    explicit Set(uint64_t place_count) : places(place_count) { words.open(places.data(), place_count); }
    WordSet::Found add(uint64_t word) {
        uint64_t place = 0;
        return words.add(word, place);
    }
    std::vector<uint64_t> places;
    WordSet words;
};

}  // namespace

TEST_CASE("A word is added once and known from then on, whatever else is in its way") {
    Set set(1024);
    for (uint64_t word = 1; word <= 40; ++word) {
        const uint64_t colliding = word * 1024 + 5;
        CHECK_FALSE(set.words.contains(colliding));
        CHECK(set.add(colliding) == WordSet::Found::added);
        CHECK(set.words.contains(colliding));
        CHECK(set.add(colliding) == WordSet::Found::known);
    }
    CHECK_FALSE(set.words.contains(41 * 1024 + 5));
}

TEST_CASE("A word's place stays its own, also around the end") {
    Set set(256);
    uint64_t first = 0;
    uint64_t second = 0;
    uint64_t again = 0;
    set.words.add(255, first);
    set.words.add(511, second);
    CHECK(first == 255);
    CHECK(second == 0);
    CHECK(set.words.add(511, again) == WordSet::Found::known);
    CHECK(again == second);
}

TEST_CASE("A full set says so after a bounded search and forgets nothing") {
    Set set(256);
    uint64_t added = 0;
    for (uint64_t word = 1; word <= 1000; ++word) {
        if (set.add(word) == WordSet::Found::added) ++added;
    }
    CHECK(added == 256);
    CHECK(set.add(2000) == WordSet::Found::full);
    CHECK_FALSE(set.words.contains(2000));
    CHECK(set.words.contains(1));
}

TEST_CASE("Of threads that add one word at once exactly one is told that it is new") {
    Set set(1 << 16);
    std::atomic<uint32_t> added{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (uint64_t word = 1; word <= 20000; ++word) {
                if (set.add(word * 0x9e3779b97f4a7c15) == WordSet::Found::added) ++added;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(added == 20000);
}

TEST_CASE("A larger sidecar has places for more stacks") {
    CHECK(stack_places(16 << 20) == 131072);
    CHECK(stack_places(uint64_t{1} << 30) == 8388608);
    CHECK(interned_bytes(1 << 20) > sizeof(Interned) + stack_places(1 << 20) * sizeof(uint64_t));
}
