// SPDX-License-Identifier: Apache-2.0
//
// Segments, mappings, handles and the memory of other libraries.
#include <cstring>
#include <utility>

#include "catch.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;
namespace {
using Call = wire::Op;
}

namespace {

std::string segments_of(const Ledger& ledger, int device = 0) {
    constexpr const char* kStates[] = {"candidate", "segment", "direct", "foreign"};
    std::string text;
    ledger.for_each_segment(device, [&](const Segment& segment) {
        text += std::to_string((segment.address - kBase) / kMiB) + "+" +
                std::to_string(segment.size_bytes / kMiB) + ":" +
                kStates[static_cast<size_t>(segment.state)] + " ";
    });
    return text;
}

uint64_t foreign_bytes(const Ledger& ledger, int device = 0) {
    uint64_t bytes = 0;
    for (const ForeignBytes& entry : ledger.foreign(device))
        bytes += entry.bytes;
    return bytes;
}

// A mapping of PyTorch's allocator with physical memory of its own.
void map(RingWriter& ring, uint64_t at_MiB, uint64_t size_MiB, uint64_t handle) {
    ring.torch_call(Call::cuMemCreate, handle, size_MiB * kMiB);
    ring.torch_call(Call::cuMemMap, kBase + at_MiB * kMiB, size_MiB * kMiB, 0, handle);
}

}  // namespace

TEST_CASE("an allocation of PyTorch's allocator is a candidate until a block is reported inside") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:candidate ");
    ring.block_alloc(kBase + kMiB, kMiB);
    const Replayed result = replayed(ring);
    CHECK(segments_of(*result.ledger) == "0+20:segment ");
    CHECK(result.ledger->device(0).segment_bytes == 20 * kMiB);
    CHECK(result.ledger->device(0).candidate_bytes == 0);
}

TEST_CASE("a candidate is a segment when reserved rose by it, though no block is inside") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.segment(kBase + 100 * kMiB, 20 * kMiB);
    ring.block_free(kBase);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:segment 100+20:segment ");
}

TEST_CASE("a candidate that reserved does not know is a direct tensor allocation") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    wire::Record direct = {};
    direct.kind = wire::Kind::ok;
    direct.op = Call::cudaMalloc;
    direct.flags = wire::kFlagFromTorch;
    direct.address = kBase + 100 * kMiB;
    direct.size = 3 * kMiB;
    ring.record(direct);
    ring.block_free(kBase);
    const Replayed result = replayed(ring);
    CHECK(segments_of(*result.ledger) == "0+20:segment 100+3:direct ");
    CHECK(result.ledger->device(0).direct_bytes == 3 * kMiB);
    CHECK(foreign_bytes(*result.ledger) == 0);
}

TEST_CASE("a candidate older than the window stays open while other reserved memory is unseen") {
    RingWriterOptions options;
    options.ring_records = 64;
    RingWriter ring(options);
    ring.segment(kBase, 20 * kMiB);
    ring.segment(kBase + 100 * kMiB, 40 * kMiB);  // never seen: its entry is taken out below
    const uint64_t unseen = ring.header().head - 1;
    for (uint64_t i = 1; i <= 100; ++i)
        ring.step(i);
    ring.block_alloc(kBase + 200 * kMiB, kMiB);
    ring.block_alloc(kBase + 201 * kMiB, kMiB);
    ring.block_free(kBase + 201 * kMiB);
    ring.live(unseen)->state = 0;
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:candidate ");
}

TEST_CASE("a freed segment is gone, and back when the free was refused") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    ring.block_free(kBase);
    ring.call_free_failed(Call::cudaFree, kBase, 1);
    const Replayed kept = replayed(ring);
    REQUIRE(!kept.error);
    CHECK(segments_of(*kept.ledger) == "0+20:segment ");
    CHECK(kept.tolerated(Rule::object_end) == 0);
    ring.call_free(Call::cudaFree, kBase);
    const Replayed freed = replayed(ring);
    CHECK(segments_of(*freed.ledger).empty());
    CHECK(freed.ledger->device(0).segment_bytes == 0);
    CHECK(freed.ledger->object_count() == 0);
}

TEST_CASE("contiguous mappings are one segment, cut where something is unmapped") {
    RingWriter ring;
    map(ring, 0, 20, 1);
    map(ring, 40, 20, 2);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:segment 40+20:segment ");
    map(ring, 20, 20, 3);
    ring.block_alloc(kBase + 10 * kMiB, 40 * kMiB);  // across all three
    const Replayed whole = replayed(ring);
    REQUIRE(!whole.error);
    CHECK(segments_of(*whole.ledger) == "0+60:segment ");
    CHECK(whole.ledger->device(0).segment_bytes == 60 * kMiB);
    CHECK(whole.ledger->device(0).unseen_reserved_bytes == 0);
    CHECK(foreign_bytes(*whole.ledger) == 0);
    ring.block_free(kBase + 10 * kMiB);
    ring.call_free(Call::cuMemUnmap, kBase + 20 * kMiB);
    ring.call_free(Call::cuMemRelease, 3);
    const Replayed cut = replayed(ring);
    CHECK(segments_of(*cut.ledger) == "0+20:segment 40+20:segment ");
    CHECK(cut.ledger->device(0).segment_bytes == 40 * kMiB);
    CHECK(cut.tolerated(Rule::object_end) == 0);
}

TEST_CASE("neighbouring cudaMallocs stay segments of their own") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.segment(kBase + 20 * kMiB, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:segment 20+20:segment ");
}

TEST_CASE(
    "device memory of other libraries is foreign, by library; host, managed and imported memory is not") {
    RingWriter ring;
    ring.library = 5;
    ring.foreign_call(Call::cudaMalloc, kBase, 3 * kMiB);
    ring.foreign_call(Call::cudaMallocAsync, kBase + 10 * kMiB, 4 * kMiB);
    ring.library = 6;
    ring.foreign_call(Call::cuMemCreate, 77, 8 * kMiB);
    ring.foreign_call(Call::cuMemMap, kBase + 20 * kMiB, 8 * kMiB, 0, 77);
    ring.foreign_call(Call::cudaMalloc, kBase + 400 * kMiB, 100 * kMiB, 1);
    ring.foreign_call(Call::cudaMallocHost, kBase + 40 * kMiB, 16 * kMiB);
    ring.foreign_call(Call::cudaMallocManaged, kBase + 60 * kMiB, 16 * kMiB);
    ring.foreign_call(Call::cudaIpcOpenMemHandle, kBase + 80 * kMiB, 16 * kMiB);
    ring.foreign_call(Call::cuMemImportFromShareableHandle, 78, 16 * kMiB);
    const auto foreign = replayed(ring).ledger->foreign(0);
    REQUIRE(foreign.size() == 2);
    CHECK((foreign[0].library == 5 && foreign[0].bytes == 7 * kMiB && foreign[0].count == 2));
    CHECK((foreign[1].library == 6 && foreign[1].bytes == 8 * kMiB && foreign[1].count == 1));
}

TEST_CASE("physical memory lives while it is mapped, whatever was released first") {
    RingWriter ring;
    ring.foreign_call(Call::cuMemCreate, 77, 8 * kMiB);
    ring.foreign_call(Call::cuMemMap, kBase, 8 * kMiB, 0, 77);
    ring.call_free(Call::cuMemRelease, 77);
    CHECK(foreign_bytes(*replayed(ring).ledger) == 8 * kMiB);
    ring.call_free(Call::cuMemUnmap, kBase);
    CHECK(foreign_bytes(*replayed(ring).ledger) == 0);
}

TEST_CASE("a block inside another library's allocation makes it a segment") {
    RingWriter ring;
    ring.foreign_call(Call::cudaMalloc, kBase, 20 * kMiB);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:foreign ");
    ring.block_alloc(kBase + kMiB, kMiB);
    ring.at(2).tail[6] = 0xA0;  // the allocator counts it as reserved: 20 MiB
    RingWriter::seal(ring.at(2));
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(segments_of(*result.ledger) == "0+20:segment ");
    CHECK(foreign_bytes(*result.ledger) == 0);
}

TEST_CASE("a block inside another library's mapping makes its physical memory PyTorch's") {
    RingWriter ring;
    ring.header().counters.lost = 1;  // the writer's reserved total does not know the mapping
    ring.foreign_call(Call::cuMemCreate, 77, 8 * kMiB);
    ring.foreign_call(Call::cuMemMap, kBase, 8 * kMiB, 0, 77);
    CHECK(foreign_bytes(*replayed(ring).ledger) == 8 * kMiB);
    ring.block_alloc(kBase + kMiB, kMiB);
    CHECK(foreign_bytes(*replayed(ring).ledger) == 0);
}

TEST_CASE("a cudaMalloc beside a mapping stays a segment of its own") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.block_alloc(kBase, kMiB);
    map(ring, 20, 20, 1);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:segment 20+20:segment ");
}

TEST_CASE("nested calls and captured ones are facts that were counted elsewhere") {
    RingWriter ring;
    for (const uint8_t flag : {wire::kFlagNested, wire::kFlagCapturing}) {
        wire::Record record = {};
        record.kind = wire::Kind::ok;
        record.op = Call::cuMemAlloc;
        record.flags = flag;
        record.address = kBase;
        record.size = kMiB;
        ring.record(record);
    }
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->object_count() == 0);
}

TEST_CASE("the torch tap tells stream and pool of a region that is there, and makes none") {
    RingWriter ring;
    wire::Record record = {};
    record.kind = wire::Kind::tap_segment_alloc;
    record.address = kBase;
    record.size = 20 * kMiB;
    const uint64_t stream = 3;
    std::memcpy(record.tail, &stream, 8);
    ring.record(record);
    CHECK(segments_of(*replayed(ring).ledger).empty());
    CHECK(replayed(ring).ledger->tap_seen());
    ring.segment(kBase, 20 * kMiB);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:candidate ");
    record.code = wire::kToldAgain;
    record.address = kBase + kMiB;  // a range of pages may begin anywhere
    ring.record(record);
    const Replayed told = replayed(ring);
    CHECK(segments_of(*told.ledger) == "0+20:segment ");
    CHECK(told.ledger->segment_of(kBase)->stream == 3);
    record.kind = wire::Kind::tap_segment_free;
    ring.record(record);
    CHECK(segments_of(*replayed(ring).ledger) == "0+20:segment ");
}

TEST_CASE("a candidate that was freed is settled no more") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB);
    ring.segment(kBase + 100 * kMiB, 20 * kMiB);
    ring.call_free(Call::cudaFree, kBase + 100 * kMiB);
    ring.block_alloc(kBase + 200 * kMiB, kMiB);  // in no segment: only its report tells
    const Replayed result = replayed(ring);
    CHECK(segments_of(*result.ledger) == "0+20:segment ");
    CHECK(result.ledger->device(0).candidate_bytes == 0);
}

TEST_CASE("a segment of an unknown device is its device's once the torch tap tells") {
    RingWriter ring;
    ring.torch_call(Call::cudaMalloc, kBase, 20 * kMiB, -1);
    wire::Record record = {};
    record.kind = wire::Kind::tap_segment_alloc;
    record.address = kBase;
    record.size = 20 * kMiB;
    ring.record(record);
    const Replayed result = replayed(ring);
    CHECK(segments_of(*result.ledger) == "0+20:segment ");
    CHECK(result.ledger->device(0).segment_bytes == 20 * kMiB);
    CHECK(result.ledger->device(0).candidate_bytes == 0);
}

TEST_CASE("mappings of external memory are imported objects: known, and not this process's bytes") {
    constexpr std::pair<Call, wire::Object> kMappings[] = {
        {Call::cudaExternalMemoryGetMappedBuffer, wire::Object::import},
        {Call::cudaExternalMemoryGetMappedMipmappedArray, wire::Object::array}};
    RingWriter ring;
    for (const auto& [op, object] : kMappings) {
        wire::Record record = {};
        record.kind = wire::Kind::ok;
        record.op = op;
        record.flags = wire::kFlagImported;
        record.address = kBase + ring.header().head * kMiB;
        record.size = kMiB;
        wire::LiveEntry entry = {};
        entry.birth_ticket = ring.record(record);
        entry.object = object;
        entry.op = op;
        entry.flags = record.flags;
        entry.address = record.address;
        entry.size = record.size;
        entry.state = ring.header().head << 1 | 1;
        RingWriter::seal(entry);
        ring.table().push_back(entry);
    }
    const Replayed result = replayed(ring);
    REQUIRE(!result.error);
    CHECK(result.ledger->object_count() == 2);
    CHECK(result.tolerated(Rule::object_end) == 0);
    CHECK(foreign_bytes(*result.ledger) == 0);
}

TEST_CASE("a refused call gives every object that it freed back, with its region") {
    RingWriter ring;
    for (uint64_t at = 0; at < 3; ++at)
        ring.foreign_call(Call::cudaMalloc, kBase + at * 10 * kMiB, 4 * kMiB);
    std::vector<RingWriter::ObjectKey> keys;
    for (uint64_t at = 0; at < 3; ++at)
        keys.emplace_back(2 * at + 1, kBase + at * 10 * kMiB);
    ring.end_refused(keys, Call::cuCtxDestroy, 1);
    const Replayed result = replayed(ring);
    CHECK(result.ledger->object_count() == 3);
    CHECK(foreign_bytes(*result.ledger) == 12 * kMiB);
    CHECK(segments_of(*result.ledger) == "0+4:foreign 10+4:foreign 20+4:foreign ");
    CHECK(result.tolerated(Rule::object_end) == 0);
    CHECK(result.tolerated(Rule::object_unmatched) == 0);
}

TEST_CASE("mappings that one refused cuMemUnmap would have removed stay mapped") {
    RingWriter ring;
    map(ring, 0, 20, 1);
    map(ring, 20, 20, 2);
    ring.call_free(Call::cuMemRelease, 1);
    const std::vector<RingWriter::ObjectKey> keys = {{3, kBase}, {7, kBase + 20 * kMiB}};
    ring.end_refused(keys, Call::cuMemUnmap, 1);
    const Replayed result = replayed(ring);
    CHECK(segments_of(*result.ledger) == "0+40:segment ");
    CHECK(result.tolerated(Rule::object_end) == 0);
}

TEST_CASE("a refused free of what was never seen is one unmatched object") {
    RingWriter ring;
    wire::Record record = {};
    record.kind = wire::Kind::free;
    record.op = Call::cudaFree;
    record.address = kBase;
    record.link = wire::kNoTicket;
    ring.record(record);
    record.kind = wire::Kind::free_fail;
    record.seq = record.time = 0;
    ring.record(record);
    CHECK(replayed(ring).tolerated(Rule::object_unmatched) == 1);
}

TEST_CASE("sums follow every object: rounding, pools, and other libraries, by class and caller") {
    RingWriter ring;
    ring.segment(kBase, 20 * kMiB + 512);
    ring.block_alloc(kBase, kMiB);
    ring.library = 2;
    ring.foreign_call(Call::cudaMalloc, kBase + 100 * kMiB, kMiB);
    ring.foreign_call(Call::cudaMallocArray, kBase + 200 * kMiB, 3 * kMiB);
    ring.foreign_call(Call::cudaMallocAsync, kBase + 300 * kMiB, 5 * kMiB);
    ring.foreign_call(Call::cudaMallocAsync, kBase + 400 * kMiB, 7 * kMiB);
    ring.foreign_call(Call::cudaMallocHost, kBase + 500 * kMiB, 9 * kMiB);
    ring.call_free(Call::cudaFreeAsync, kBase + 400 * kMiB);
    const Replayed result = replayed(ring);
    const DeviceTotals& totals = result.ledger->device(0);
    CHECK(totals.rounding_bytes == 2 * kMiB - 512 + kMiB + kMiB);
    CHECK(totals.pooled_bytes == Wide{5 * kMiB});
    CHECK(totals.pool_room_peak_bytes == Wide{14 * kMiB});  // 6 and 8
    CHECK(totals.own_bytes == Wide{9 * kMiB});
    CHECK(foreign_bytes(*result.ledger) == 9 * kMiB);
    CHECK(result.ledger->beside(0).pinned_bytes == Wide{9 * kMiB});
}

TEST_CASE("another library's memory is PyTorch's from the block that is reported inside it") {
    RingWriter ring;
    ring.foreign_call(Call::cudaMalloc, kBase, 20 * kMiB);
    CHECK(replayed(ring).ledger->device(0).own_bytes == Wide{20 * kMiB});
    ring.block_alloc(kBase + kMiB, kMiB);
    CHECK(replayed(ring).ledger->device(0).own_bytes == 0);
    CHECK(replayed(ring).ledger->foreign(0).empty());
}
