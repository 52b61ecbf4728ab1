// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "local_names.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

constexpr uint64_t kFile_bytes = 256 * 1024;

struct Sidecar {
    Sidecar() : bytes(kFile_bytes / sizeof(uint64_t)) {
        recorder->header = &header;
        recorder->names = reinterpret_cast<wire::NamesHeader*>(bytes.data());
        recorder->names->used_bytes = sizeof(wire::NamesHeader);
        recorder->names_bytes = kFile_bytes;
    }
    void add(uint64_t id, const std::string& text) {
        intern(*recorder, wire::NameKind::library, id, text.data(), text.size());
    }
    // As WIRE.md §11 tells a reader to go.
    std::map<uint64_t, std::string> read() const {
        std::map<uint64_t, std::string> found;
        const auto* file = reinterpret_cast<const unsigned char*>(bytes.data());
        for (uint64_t at = sizeof(wire::NamesHeader); at + sizeof(wire::NameEntry) <= kFile_bytes;) {
            wire::NameEntry entry;
            std::memcpy(&entry, file + at, sizeof entry);
            if (entry.entry_bytes == 0) break;
            CHECK(entry.entry_bytes % 8 == 0);
            CHECK(entry.kind == wire::NameKind::library);
            CHECK(found
                      .emplace(entry.id, std::string(reinterpret_cast<const char*>(file) + at + sizeof entry,
                                                     entry.payload_bytes))
                      .second);
            at += entry.entry_bytes;
        }
        return found;
    }
    uint64_t dropped() const { return header.counters.names_dropped; }

    std::vector<uint64_t> bytes;
    wire::Header header = {};
    std::unique_ptr<Recorder> recorder = std::make_unique<Recorder>();
};

}  // namespace

TEST_CASE("Texts come back under their ids, whatever their length") {
    Sidecar sidecar;
    for (uint64_t id = 0; id < 20; ++id) {
        sidecar.add(id, std::string(id, 'x'));
    }
    auto found = sidecar.read();
    REQUIRE(found.size() == 20);
    for (uint64_t id = 0; id < 20; ++id) {
        CHECK(found.at(id) == std::string(id, 'x'));
    }
    CHECK(sidecar.dropped() == 0);
}

TEST_CASE("What does not fit is counted and nothing is written behind the end") {
    Sidecar sidecar;
    const uint64_t entry_bytes = sizeof(wire::NameEntry) + 1000;
    const uint64_t room = (kFile_bytes - sizeof(wire::NamesHeader)) / entry_bytes;
    for (uint64_t id = 0; id < room + 5; ++id) {
        sidecar.add(id, std::string(1000, 'x'));
    }
    sidecar.add(room + 5, "short");
    sidecar.add(room + 6, std::string(UINT16_MAX + 1, 'x'));
    CHECK(sidecar.read().size() == room);
    CHECK(sidecar.dropped() == 7);
    CHECK(sidecar.recorder->names->used_bytes > kFile_bytes);
}

TEST_CASE("Threads that enter texts at once do not mix them") {
    Sidecar sidecar;
    constexpr uint64_t kThreads = 4;
    constexpr uint64_t kTexts = 500;
    auto text = [](uint64_t id) { return std::string(id % 40, static_cast<char>('a' + id % 26)); };
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < kTexts; ++i) {
                sidecar.add(t * kTexts + i, text(t * kTexts + i));
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    auto found = sidecar.read();
    REQUIRE(found.size() == kThreads * kTexts);
    for (const auto& [id, name] : found) {
        CHECK(name == text(id));
    }
}

TEST_CASE("Without a sidecar a text goes nowhere and is not counted as lost") {
    Sidecar sidecar;
    sidecar.recorder->names = nullptr;
    sidecar.add(1, "text");
    CHECK(sidecar.dropped() == 0);
}

TEST_CASE("Modules that are made anew for ever leave room for the names that a program tells") {
    Sidecar sidecar;
    auto describe = [](const void*, char* text, size_t) -> size_t {
        *text = 'M';
        return 1;
    };
    uint64_t named_count = 0;
    for (uint64_t place = 0; place < 2 * LocalNames::kCapacity; ++place) {
        if (ids_of_place(*sidecar.recorder, place, describe, nullptr).exact != 0) ++named_count;
    }
    CHECK(named_count == LocalNames::kPlaceCapacity);
    CHECK(sidecar.dropped() == 2 * LocalNames::kCapacity - named_count);
    for (uint64_t i = 0; i < LocalNames::kCapacity - LocalNames::kPlaceCapacity; ++i) {
        const std::string text(1 + i % 64, static_cast<char>('a' + i / 64 % 16));
        const std::string name = text + static_cast<char>('A' + i / 1024);
        CHECK(ids_of_text(*sidecar.recorder, name.data(), name.size()).exact != 0);
    }
    CHECK(ids_of_place(*sidecar.recorder, 1, describe, nullptr).exact != 0);
}
