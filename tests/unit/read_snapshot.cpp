// SPDX-License-Identifier: Apache-2.0
//
// What begins like a pickle; texts and stacks once each; the parts of a snapshot that only a made-up file
// has. Whole snapshots are compared with Python's own reading in tests/snapshots.
#include "../../snapshot/read_snapshot.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../../replay/reference.h"
#include "catch.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::snapshot;
using namespace std::string_literals;

namespace {

Result<Snapshot> read(std::string_view bytes) {
    const int file = ::memfd_create("pickle", MFD_CLOEXEC);
    REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    auto snapshot = read_snapshot("/proc/self/fd/" + std::to_string(file));
    ::close(file);
    return snapshot;
}

std::string text(std::string_view characters) {
    return "\x8c" + std::string(1, static_cast<char>(characters.size())) + std::string(characters);
}

}  // namespace

TEST_CASE("the beginnings of pickles of all protocols look like pickles") {
    for (const auto& head :
         {"\x80\x02}q\x00"s, "\x80\x03]"s, "\x80\x04\x95"s, "\x80\x05\x95"s, "}q\x00("s, "]q\x00("s, "](}("s,
          "}."s, "(dp0\n"s, "(lp0\n"s, "(l."s, "(dS'segments'\n"s, "\x80\x06"s}) {
        INFO(head);
        CHECK(looks_like_pickle(head));
    }
}

TEST_CASE("texts, JSON, rings and other files do not look like pickles") {
    for (const auto& head :
         {""s, "\x80"s, "\x80\xff"s, "{\"traceEvents\": []}"s, "[{\"ph\": \"X\"}]"s, "\x89MEMSNAP"s,
          "(default) out of memory"s, "(dpkg)"s, "(list)"s, "]]>"s, "} else {"s,
          "Traceback (most recent call last):"s, "PK\x03\x04"s, "\x1f\x8b\x08"s, "CUDA out of memory"s,
          "\x7f"
          "ELF"s}) {
        INFO(head);
        CHECK_FALSE(looks_like_pickle(head));
    }
}

TEST_CASE("a file that cannot be read is an error of the system's") {
    const auto missing = read_snapshot("no/such/file.pickle");
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error().code == ErrorCode::io);
    CHECK(missing.error().file == "no/such/file.pickle");
}

TEST_CASE("a file is read and hashed as it was opened, and a change meanwhile is an error") {
    const test::Folder folder;
    const std::string path = folder.file("a.pickle"), other = folder.file("b.pickle");
    const std::string empty = "}" + text("segments") + "]s.";
    std::ofstream(path) << empty;
    const auto file = RingFile::open(path);
    REQUIRE(file);
    std::ofstream(other) << "another one";
    std::filesystem::rename(other, path);
    CHECK(read_snapshot(*file));
    CHECK(reference_of(*file, "other")->size_bytes == empty.size());
    CHECK(file->unchanged());

    const auto growing = RingFile::open(path);
    REQUIRE(growing);
    std::ofstream(path, std::ios::app) << "more";
    const auto changed = growing->unchanged();
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code == ErrorCode::io);
    CHECK(changed.error().file == path);
}

TEST_CASE("an error of the pickle and one of the snapshot name the file, the rule and the place") {
    const auto pickle = read("\x80\x02}(Nu.");
    REQUIRE_FALSE(pickle.has_value());
    CHECK(pickle.error().code == ErrorCode::corrupt);
    CHECK(pickle.error().rule == "pickle");
    CHECK(pickle.error().offset_bytes == 5);
    CHECK(pickle.error().file.starts_with("/proc/self/fd/"));
    const auto snapshot = read("}" + text("device_traces") + "](](}" + text("action") + "Nsees.");
    REQUIRE_FALSE(snapshot.has_value());
    CHECK(snapshot.error().code == ErrorCode::corrupt);
    CHECK(snapshot.error().rule == "snapshot");
    CHECK(snapshot.error().detail == "device_traces[0][0].action is None, not a text");
    CHECK(snapshot.error().offset_bytes == 30);
}

TEST_CASE("the last member of a name counts, as in Python") {
    const auto snapshot = read("}(" + text("device_traces") + "K\x01" + text("device_traces") + "](](}(" +
                               text("action") + "N" + text("action") + text("snapshot") + "ueeu.");
    REQUIRE(snapshot.has_value());
    CHECK(snapshot->traces.at(0).at(0).action == Action::snapshot);
}

TEST_CASE("an entry of an action that is not known stays one, and needs neither address nor size") {
    const auto snapshot =
        read("}" + text("device_traces") + "](](}" + text("action") + text("defragment") + "sees.");
    REQUIRE(snapshot.has_value());
    CHECK(snapshot->traces.at(0).at(0).action == Action::unknown);
}

TEST_CASE("the device's free bytes of a failure are unknown where the file has none or -1") {
    for (const std::string& told : {""s, text("device_free") + "J\xff\xff\xff\xff"}) {
        const auto snapshot = read("}" + text("device_traces") + "](](}(" + text("action") + text("oom") +
                                   text("size") + "K\x07" + told + "uees.");
        REQUIRE(snapshot.has_value());
        CHECK(snapshot->traces.at(0).at(0).address == kFreeUnknown);
        CHECK(snapshot->traces.at(0).at(0).size_bytes == 7);
    }
}

TEST_CASE("one dictionary as the use of many blocks is looked at no further than a writer fills it") {
    std::string use = "}\x94(";
    for (int i = 0; i < 20; ++i)
        use += "K" + std::string(1, static_cast<char>(i)) + "N";
    use += text("real_size") + "K\x05u";
    const std::string block = "}(" + text("state") + text("active_allocated") + text("size") + "M\x00\x02"s +
                              text("history") + "](" + use + "eu";
    const auto snapshot = read("](}(" + text("device") + "K\x00"s + text("address") + "M\x00\x02"s +
                               text("total_size") + "M\x00\x02"s + text("blocks") + "](" + block + "eue.");
    REQUIRE(snapshot.has_value());
    CHECK(snapshot->blocks.at(0).address == 512);
    CHECK_FALSE(snapshot->blocks.at(0).requested_bytes.has_value());
}

TEST_CASE("each text and each stack has one number, however many there are") {
    Texts texts;
    Stacks stacks;
    for (int round = 0; round < 2; ++round)
        for (uint32_t i = 1; i <= 20000; ++i) {
            REQUIRE(texts.add("text " + std::to_string(i)) == i);
            REQUIRE(stacks.add({{i, 1, 2}, {i + 1, 1, 2}}) == i);
        }
    CHECK(texts.add("") == 0);
    CHECK(texts.count() == 20000);
    CHECK(texts.text(777) == "text 777");
    const std::string long_text(200000, 'x');
    CHECK(texts.text(texts.add(long_text)) == long_text);
    CHECK(stacks.frames(777).at(1).file == 778);
    CHECK(stacks.add({}) == 20001);
    CHECK(stacks.frames(0).empty());
}

TEST_CASE("a moved snapshot keeps its texts") {
    auto first = read("}" + text("device_traces") + "](](}(" + text("action") + text("snapshot") +
                      text("user_metadata") + text("warm") + "uees.");
    REQUIRE(first.has_value());
    const Snapshot second = std::move(*first);
    CHECK(second.texts.text(second.traces.at(0).at(0).user_metadata) == "warm");
}

TEST_CASE("a pool's pair of numbers is one number as the ring has it") {
    CHECK(pool_number(0, 0) == 0);
    CHECK(pool_number(7, 0) == 7);
    CHECK(pool_number(0, 7) == 32775);
    CHECK(pool_number(1, 1) == snapshot::kPoolUnknown);
    CHECK(pool_number(32768, 0) == snapshot::kPoolUnknown);
}
