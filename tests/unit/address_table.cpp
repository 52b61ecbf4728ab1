// SPDX-License-Identifier: Apache-2.0
//
// The ordered table against std::map, under random use.
#include "address_table.h"

#include <map>
#include <random>

#include "catch.h"
#include "crc32c.h"

using memsnap::AddressTable;

TEST_CASE("an address table behaves as an ordered map") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 20; ++round) {
        AddressTable<uint64_t> table;
        std::map<uint64_t, uint64_t> expected;
        const uint64_t range = round % 2 == 0 ? 300 : 100000;
        for (int i = 0; i < 6000; ++i) {
            const uint64_t key = random() % range;
            const bool grow = i % 2000 < 1000;
            if (!expected.contains(key) && (grow || random() % 4 == 0)) {
                table.insert(key, i);
                expected[key] = static_cast<uint64_t>(i);
            } else if (!grow || random() % 4 == 0) {
                table.erase(key);
                expected.erase(key);
            }
            const uint64_t probe = random() % range;
            const auto behind = expected.upper_bound(probe);
            const auto place = table.place(probe);
            REQUIRE((place.after != nullptr) == (behind != expected.end()));
            if (place.after != nullptr)
                REQUIRE((place.after_key == behind->first && *place.after == behind->second));
            REQUIRE((place.before != nullptr) == (behind != expected.begin()));
            if (place.before != nullptr) {
                const auto before = std::prev(behind);
                REQUIRE((place.before_key == before->first && *place.before == before->second));
                REQUIRE(*table.at_or_before(probe) == before->second);
            }
            REQUIRE((table.find(probe) != nullptr) == expected.contains(probe));
        }
        REQUIRE(table.size() == expected.size());
        auto next = expected.begin();
        table.for_each([&](uint64_t value) { REQUIRE(value == (next++)->second); });
        std::vector<uint64_t> inside;
        table.for_range(range / 4, range / 2, [&](uint64_t value) { inside.push_back(value); });
        next = expected.lower_bound(range / 4);
        for (const uint64_t value : inside)
            REQUIRE(value == (next++)->second);
        REQUIRE(next == expected.lower_bound(range / 2));
    }
}

TEST_CASE("a copy of an address table changes apart from the original") {
    AddressTable<int> table;
    for (uint64_t key = 0; key < 1000; ++key)
        table.insert(key, 1);
    AddressTable<int> copy = table;
    *copy.find(5) = 2;
    copy.erase(6);
    CHECK(*table.find(5) == 1);
    CHECK(table.find(6) != nullptr);
    CHECK(copy.size() == 999);
}

TEST_CASE("keys in ascending order leave the runs nearly full") {
    memsnap::AddressIndex index;
    memsnap::AddressIndex::Position last = memsnap::AddressIndex::kFront;
    for (uint64_t key = 0; key < 10000; ++key) {
        if (key != 0) REQUIRE(index.at_or_before(key, last));
        index.insert_behind(last, key, 0);
    }
    CHECK(index.run_count() <= 10000 / 56 + 1);
}

TEST_CASE("CRC32C has its published value, by instruction and by table, in parts and whole") {
    const std::string_view digits = "123456789";
    const auto bytes = std::as_bytes(std::span(digits));
    CHECK(memsnap::crc32c(0, bytes) == 0xE3069283);
    CHECK(memsnap::crc32c_by_table(0, bytes) == 0xE3069283);
    CHECK(memsnap::crc32c(memsnap::crc32c(0, bytes.first(4)), bytes.subspan(4)) == 0xE3069283);
    std::mt19937_64 random(1);
    std::vector<std::byte> noise(300);
    for (std::byte& byte : noise)
        byte = static_cast<std::byte>(random());
    for (size_t size = 0; size < noise.size(); ++size) {
        const std::span part(noise.data(), size);
        REQUIRE(memsnap::crc32c(7, part) == memsnap::crc32c_by_table(7, part));
    }
}
