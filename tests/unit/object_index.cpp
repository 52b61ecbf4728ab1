// SPDX-License-Identifier: Apache-2.0
//
// The index of loaded objects against a search of them all, and its cost when they all overlap.
#include "object_index.h"

#include <algorithm>
#include <ctime>
#include <random>

#include "catch.h"

using namespace memsnap;

namespace {

using Ranges = std::vector<ObjectIndex::Range>;

std::optional<size_t> searched(const Ranges& objects, uint64_t address, int64_t generation) {
    for (size_t object = objects.size(); object > 0; --object) {
        const auto& range = objects[object - 1];
        if (range.begin <= address && address < range.end && range.generation <= generation)
            return object - 1;
    }
    return std::nullopt;
}

// Each covers all places asked for, and is too new for them.
Ranges nested(uint64_t count) {
    Ranges objects;
    for (uint64_t object = 0; object < count; ++object)
        objects.push_back({object, 4 * count - object, 1});
    return objects;
}

// Processor time of one question: the least of some rounds.
double question_ns(const Ranges& objects) {
    constexpr int kQuestions = 2000;
    const auto now_ns = [] {
        timespec time;
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
    };
    const ObjectIndex index(objects);
    double least_ns = 1e18;
    for (int round = 0; round < 5; ++round) {
        const double begin_ns = now_ns();
        for (uint64_t question = 0; question < kQuestions; ++question)
            REQUIRE_FALSE(index.last_at(2 * objects.size() + question % objects.size() / 2, 0));
        least_ns = std::min(least_ns, (now_ns() - begin_ns) / kQuestions);
    }
    return least_ns;
}

}  // namespace

TEST_CASE("the index answers as a search of all objects does, also when generations go back") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        Ranges objects;
        for (uint64_t count = random() % 30; count > 0; --count) {
            const uint64_t begin = random() % 40;
            const int64_t generation = static_cast<int64_t>(random() % 6) - 2;
            objects.push_back({begin, begin + random() % 20, generation});
        }
        if (round % 10 == 0) objects.push_back({0, ~uint64_t{0}, 1});
        const ObjectIndex index(objects);
        for (uint64_t address = 0; address < 62; ++address) {
            for (int64_t generation = -3; generation < 5; ++generation)
                REQUIRE(index.last_at(address, generation) == searched(objects, address, generation));
        }
        CHECK(index.last_at(~uint64_t{0}, 9) == std::nullopt);
    }
    CHECK(ObjectIndex().last_at(0, 0) == std::nullopt);
}

TEST_CASE("a question among 65536 objects that all overlap is not answered by looking at each") {
    CHECK(question_ns(nested(65536)) < 100 * question_ns(nested(16)));
}
