// SPDX-License-Identifier: Apache-2.0
//
// dump and check: the words that others rely on.
#include <cstdio>
#include <cstdlib>

#include "catch.h"
#include "check.h"
#include "dump.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

template <class F>
std::string printed(F&& print) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* const out = ::open_memstream(&text, &size);
    print(out);
    std::fclose(out);
    const std::string result(text, size);
    std::free(text);
    return result;
}

std::string dump(RingWriter& ring, const DumpOptions& options = {}) {
    const auto capture = read(ring);
    REQUIRE(capture);
    return printed([&](std::FILE* out) { dump_records(*capture, options, out); });
}

}  // namespace

TEST_CASE("a dump line is ticket, time, kind, device, op, address, size and the kind's own fields") {
    RingWriter ring;
    ring.library = 2;
    ring.site = 0xabc;
    ring.segment(0x7f0000000000, 2097152);
    ring.block_alloc(0x7f0000000000, 512);
    ring.block_free(0x7f0000000000);
    ring.call_failed(wire::Op::cudaMalloc, 4096, 2, false, 1);
    ring.mem_info(8589934592, 96468992);
    ring.block_oom(104857600);
    ring.step(3);
    ring.phase(wire::Kind::phase_begin, 5, 6, wire::Family::range);
    CHECK(
        dump(ring) ==
        "0 1001 try_call 0 cudaMalloc 0x0 2097152 site=0xabc extra=0x0 thread=1 library=2 flags=from_torch\n"
        "1 1002 ok 0 cudaMalloc 0x7f0000000000 2097152 site=0xabc extra=0x0 thread=1 library=2 "
        "flags=from_torch\n"
        "2 1003 block_alloc 0 - 0x7f0000000000 512 site=0xabc allocated=512 reserved=2097152 thread=1 "
        "library=2\n"
        "3 1004 block_free 0 - 0x7f0000000000 512 birth=2 allocated=0 reserved=2097152 thread=1 library=2\n"
        "4 1005 try_call 1 cudaMalloc 0x0 4096 site=0xabc extra=0x0 thread=1 library=2\n"
        "5 1006 fail 1 cudaMalloc 0x0 4096 try=4 code=2 thread=1 library=2\n"
        "6 1007 mem_info 0 cudaMemGetInfo 0x0 8589934592 free=96468992 allocated=0 reserved=2097152 thread=1 "
        "library=2\n"
        "7 1008 block_oom 0 - 0x0 104857600 site=0xabc allocated=0 reserved=2097152 thread=1 library=2\n"
        "8 1009 step - - 0x0 3 name=0 thread=1 library=2\n"
        "9 1010 phase_begin - - 0x0 0 name=5 folded=6 family=range thread=1 library=2\n");
}

TEST_CASE("every kind of record has a dump line, and none throws") {
    for (int number = 1; number < 256; ++number) {
        const auto kind = kind_of_number(static_cast<uint8_t>(number));
        if (!kind) continue;
        RingWriter ring;
        wire::Record record = {};
        record.kind = static_cast<wire::Kind>(number);
        record.code = 65535;
        record.link = wire::kNoTicket;
        record.flags = 0xFF;
        ring.record(record);
        CHECK_THAT(dump(ring), ContainsSubstring(" " + std::string(name(*kind)) + " "));
    }
}

TEST_CASE("gaps are dumped as lines of their own") {
    RingWriter ring;
    ring.step(1);
    ring.lose();
    ring.step(2);
    ring.lose();
    ring.lose();
    const std::string text = dump(ring);
    CHECK_THAT(text, ContainsSubstring("\n1 - gap\n"));
    CHECK_THAT(text, ContainsSubstring("\n3-4 - gap\n"));
}

TEST_CASE("a dump of one device leaves out the others") {
    RingWriter ring;
    ring.mem_info(1, 1, 0);
    ring.mem_info(1, 1, 1);
    DumpOptions options;
    options.device = 1;
    CHECK_THAT(dump(ring, options), ContainsSubstring("1 1002 mem_info 1 "));
    CHECK_THAT(dump(ring, options), !ContainsSubstring("mem_info 0 "));
}

TEST_CASE("the header's dump gives the sum of the areas") {
    RingWriter ring;
    const auto capture = read(ring);
    uint64_t sum_bytes = 0;
    for (const wire::Area& area : ring.header().areas)
        sum_bytes += area.size_bytes;
    const std::string text = printed([&](std::FILE* out) { dump_header(*capture, out); });
    CHECK_THAT(text, ContainsSubstring("areas_bytes " + std::to_string(sum_bytes) + "\n"));
    CHECK_THAT(text, ContainsSubstring("ring_id 000102030405060708090a0b0c0d0e0f\n"));
    CHECK_THAT(text, ContainsSubstring("torch_version 2.14.1\n"));
}

TEST_CASE("check says OK with counts, what is uncertain and what was tolerated") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    CHECK_THAT(check(*read(ring)).value(), ContainsSubstring("OK  3 events of 3 replayed"));
    ring.header().counters.lost = 1;
    ring.block_alloc(kBase, kMiB);
    const auto text = check(*read(ring));
    REQUIRE(text);
    CHECK_THAT(*text, ContainsSubstring("uncertain: events_lost"));
    CHECK_THAT(*text, ContainsSubstring("tolerated 1 times: block_live_twice"));
    ring.header().counters.lost = 0;
    const auto refused = check(*read(ring));
    REQUIRE(!refused);
    CHECK_THAT(describe(refused.error()), ContainsSubstring("record 3") && ContainsSubstring("byte offset") &&
                                              ContainsSubstring("[block_live_twice]"));
}
