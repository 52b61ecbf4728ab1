// SPDX-License-Identifier: Apache-2.0
//
// Files that are not rings, rings of another version, damaged and hostile ones: each is refused with its
// place.
#include <cstring>
#include <fstream>

#include "catch.h"
#include "check.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

RingWriter some_ring() {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    for (uint64_t i = 0; i < 20; ++i)
        ring.block_alloc(kBase + i * kMiB, kMiB);
    for (uint64_t i = 0; i < 20; i += 2)
        ring.block_free(kBase + i * kMiB);
    ring.pin(ring.pinned(0).first_report, 2);
    ring.boundary(ring.step(1));
    ring.keyframe(0, ring.block_oom(64 * kMiB));
    return ring;
}

Error refused(const std::string& content) {
    const Folder folder;
    std::ofstream(folder.file("x"), std::ios::binary) << content;
    const auto capture = Capture::read(folder.file("x"));
    REQUIRE(!capture);
    CHECK(!capture.error().way_out.empty());
    CHECK(capture.error().file == folder.file("x"));
    return capture.error();
}

std::string content_of(RingWriter& ring) {
    const auto& bytes = ring.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error refused(RingWriter& ring) {
    return refused(content_of(ring));
}

}  // namespace

TEST_CASE("a missing file and a folder are input errors") {
    const Folder folder;
    for (const std::string& path : {folder.file("missing"), folder.file(".")}) {
        const auto capture = Capture::read(path);
        REQUIRE(!capture);
        CHECK(capture.error().code == ErrorCode::io);
        CHECK(capture.error().file == path);
    }
}

TEST_CASE("what is not a memsnap file is told apart from a damaged one") {
    CHECK(refused(std::string()).code == ErrorCode::not_memsnap);
    CHECK(refused(std::string("a text")).rule == "magic");
    CHECK(refused(std::string(100000, 'x')).code == ErrorCode::not_memsnap);
    RingWriter ring = some_ring();
    CHECK(refused(content_of(ring).substr(0, 15)).code == ErrorCode::not_memsnap);
}

TEST_CASE("another major version is refused with both versions") {
    RingWriter ring = some_ring();
    ring.header().version_major = 9;
    const Error error = refused(ring);
    CHECK(error.code == ErrorCode::not_memsnap);
    CHECK(error.rule == "version");
    CHECK_THAT(error.detail, ContainsSubstring("9.0") && ContainsSubstring("1.x"));
}

TEST_CASE("a newer minor version is read; records of unknown kinds and calls are counted and skipped") {
    RingWriter ring = some_ring();
    ring.header().version_minor = 7;
    wire::Record strange = {};
    strange.kind = static_cast<wire::Kind>(200);
    ring.record(strange);
    strange.kind = wire::Kind::ok;
    strange.op = static_cast<wire::Op>(250);
    ring.record(strange);
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.capture->window.facts.unknown_kind_count == 2);
    CHECK(result.capture->window.facts.missing_count == 0);
    CHECK(result.capture->window.facts.is_uncertain(Uncertainty::kinds_unknown));
}

TEST_CASE("the other byte order and other structure sizes are refused") {
    RingWriter ring = some_ring();
    ring.header().byte_order = 0x04030201;
    CHECK(refused(ring).rule == "byte_order");
    ring = some_ring();
    ring.header().record_bytes = 128;
    CHECK(refused(ring).rule == "header_sizes");
    ring = some_ring();
    ring.header().header_bytes = 760;
    CHECK(refused(ring).rule == "header_sizes");
}

TEST_CASE("a truncated file is corrupt, wherever it ends") {
    RingWriter ring = some_ring();
    const std::string whole = content_of(ring);
    for (const size_t size :
         {size_t{16}, size_t{767}, size_t{768}, size_t{65536}, size_t{70000}, whole.size() - 1}) {
        const Error error = refused(whole.substr(0, size));
        CHECK(error.code == ErrorCode::corrupt);
        CHECK(error.rule == "file_bytes");
        CHECK(error.offset_bytes == size);
    }
}

TEST_CASE("each field of each area is checked against the file") {
    using Change = void (*)(wire::Area&);
    const Change changes[] = {
        [](wire::Area& a) { a.offset_bytes += 64; },
        [](wire::Area& a) { a.offset_bytes = 0; },
        [](wire::Area& a) { a.offset_bytes = ~uint64_t{0} << 16; },
        [](wire::Area& a) { a.offset_bytes += uint64_t{1} << 40; },
        [](wire::Area& a) { a.size_bytes -= 1; },
        [](wire::Area& a) { a.size_bytes = ~uint64_t{0} << 16; },
        [](wire::Area& a) { a.size_bytes = 0; },
        [](wire::Area& a) { a.entry_bytes = 0; },
        [](wire::Area& a) { a.entry_bytes -= 1; },
        [](wire::Area& a) { a.entry_count = ~0U; },
    };
    for (size_t i = 0; i < wire::kAreaCount; ++i) {
        for (size_t j = 0; j < std::size(changes); ++j) {
            RingWriter ring = some_ring();
            std::string content = content_of(ring);
            changes[j](ring.header().areas[i]);
            std::memcpy(content.data(), &ring.header(), sizeof(wire::Header));
            // A keyframe slot may be smaller than the writer made it.
            if (i == static_cast<size_t>(wire::AreaId::keyframes) && j == 8) continue;
            INFO("area " << i << " change " << j);
            const Error error = refused(content);
            CHECK(error.code == ErrorCode::corrupt);
            CHECK(error.rule == "area_bounds");
            CHECK(error.offset_bytes == 48 + i * 24);
        }
    }
}

TEST_CASE("areas may not overlap") {
    RingWriter ring = some_ring();
    std::string content = content_of(ring);
    ring.header().areas[1].offset_bytes = ring.header().areas[0].offset_bytes;
    std::memcpy(content.data(), &ring.header(), sizeof(wire::Header));
    CHECK(refused(content).rule == "area_overlap");
}

TEST_CASE("counts of the header may not exceed their tables") {
    using Change = void (*)(wire::Header&);
    for (const Change change : {Change([](wire::Header& h) { h.library_count = 65; }),
                                Change([](wire::Header& h) { h.thread_count = 65; }),
                                Change([](wire::Header& h) { h.boundary_count = 1025; })}) {
        RingWriter ring = some_ring();
        change(ring.header());
        CHECK(refused(ring).rule == "header_counts");
    }
}

TEST_CASE(
    "a record whose check does not fit is a torn gap while the job may run, corruption after it exited") {
    RingWriter ring = some_ring();
    ring.at(25).size ^= 1;
    SECTION("no exit was seen") {
        const Replayed result = replayed(ring);
        REQUIRE(!result.error);
        CHECK(result.capture->window.facts.torn_count == 1);
        CHECK(result.capture->window.facts.missing_count == 1);
    }
    SECTION("the process exited") {
        ring.exit(1);
        const Error error = refused(ring);
        CHECK(error.rule == "record_check");
        CHECK(error.ticket == 25);
        CHECK(error.offset_bytes == ring.header().areas[0].offset_bytes + 25 * 64);
    }
}

TEST_CASE("a record in the slot of another ticket is corruption") {
    RingWriter ring = some_ring();
    ring.at(25) = ring.at(24);
    CHECK(refused(ring).rule == "record_order");
}

TEST_CASE("a live entry whose check does not fit is corruption") {
    RingWriter ring = some_ring();
    ring.live(3)->site ^= 1;
    const Error error = refused(ring);
    CHECK(error.rule == "table_check");
    CHECK(error.offset_bytes.value_or(0) >= ring.header().areas[1].offset_bytes);
}

TEST_CASE("a damaged pinned record or boundary is corruption after an exit, and left out before") {
    RingWriter ring = some_ring();
    ring.pinned(0).first_report.size ^= 512;
    CHECK(!replayed(ring).error);
    CHECK(!replayed(ring).capture->pinned[0].first_report);
    ring.exit(0);
    CHECK(refused(ring).rule == "record_check");

    ring = some_ring();
    ring.bytes();
    ring.boundary(2).check = 1;
    CHECK(replayed(ring).capture->boundaries.size() == 1);
    ring.exit(0);
    CHECK(refused(ring).rule == "boundary_check");
}

TEST_CASE("a file that waits to be armed is told apart from a damaged one") {
    RingWriter ring;
    ring.leave_header();
    const Error error = refused(ring);
    CHECK(error.code == ErrorCode::dormant);
    CHECK(error.way_out.find("memsnap arm") != std::string::npos);
    ring.header().arm_state = wire::ArmState::recording;
    CHECK(refused(ring).rule == "area_bounds");
}

TEST_CASE("only a file that was made in standby begins in the middle, and not behind its head") {
    RingWriter ring = some_ring();
    ring.header().armed_from = 1;
    CHECK(refused(ring).rule == "arming");
    ring.header().armed_from = 0;
    ring.header().arm_state = wire::ArmState::standby;
    CHECK(refused(ring).rule == "arming");

    RingWriterOptions options;
    options.standby = true;
    RingWriter standby(options);
    standby.arm();
    standby.segment(kBase, 20 * kMiB);
    CHECK(!replayed(standby).error);
    standby.header().armed_from = standby.header().head + 1;
    CHECK(refused(standby).rule == "arming");
    standby.header().armed_from = 0;
    standby.header().disarmed_at = standby.header().head + 2;
    CHECK(refused(standby).rule == "arming");
}

TEST_CASE("no byte of a header can make the reader crash or invent events") {
    RingWriter good = some_ring();
    const std::string content = content_of(good);
    const Folder folder;
    const std::string path = folder.file("ring.bin");
    std::ofstream(path, std::ios::binary) << content;
    for (size_t at = 0; at < sizeof(wire::Header); ++at) {
        for (const char value : {'\x00', '\x01', '\x7f', '\xff'}) {
            std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
            file.seekp(static_cast<std::streamoff>(at));
            file.put(value);
            file.close();
            const auto capture = Capture::read(path);
            if (capture) {
                CHECK(capture->window.facts.accepted_count <= good.header().head);
                static_cast<void>(check(*capture));
            }
            file.open(path, std::ios::binary | std::ios::in | std::ios::out);
            file.seekp(static_cast<std::streamoff>(at));
            file.put(content[at]);
        }
    }
}
