// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer without libFuzzer: right rings, damaged a bounded number of times in ways a general fuzzer
// seldom finds, such as a wrong number under a right checksum. `mutated_rings [rounds] [seed]`; a failure
// names its round.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "ring_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using memsnap::fixture::RingWriter;
using memsnap::fixture::RingWriterOptions;
namespace wire = memsnap::wire;

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kMiB = uint64_t{1} << 20;

class Mutator {
  public:
    explicit Mutator(uint64_t seed) : random_(seed) {}

    std::vector<std::byte> make() {
        RingWriterOptions options;
        options.ring_records = 64;
        options.table_entries = 64;
        options.boundary_entries = 64;
        options.keyframe_entries = 64;
        options.keyframe_ring_records = 32;
        options.standby = below(3) == 0;
        RingWriter ring(options);
        fill(ring);
        const uint64_t count = 1 + below(4);
        for (uint64_t i = 0; i < count; ++i)
            damage(ring);
        if (options.standby) ring.close_ring();
        std::vector<std::byte> bytes = ring.bytes();
        if (below(4) == 0) flip(bytes);
        if (below(16) == 0) bytes.resize(below(bytes.size()));
        return bytes;
    }

  private:
    uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

    // A number that a mistake or an enemy would choose.
    uint64_t strange() {
        const uint64_t numbers[] = {0,
                                    1,
                                    511,
                                    512,
                                    kMiB,
                                    kBase,
                                    ~uint64_t{0},
                                    ~uint64_t{0} - 511,
                                    uint64_t{1} << 63,
                                    uint64_t{1} << 60,
                                    below(200),
                                    random_()};
        return numbers[below(std::size(numbers))];
    }

    void fill(RingWriter& ring) {
        ring.segment(kBase, 64 * kMiB);
        const uint64_t events = 5 + below(200);
        std::vector<uint64_t> live;
        for (uint64_t i = 0; i < events; ++i) {
            const uint64_t address = kBase + below(40) * kMiB;
            const auto at = std::find(live.begin(), live.end(), address);
            if (at != live.end()) {
                ring.block_free(address);
                live.erase(at);
            } else {
                ring.block_alloc(address, kMiB);
                live.push_back(address);
            }
            if (below(20) == 0)
                ring.pin(ring.pinned(0).last_observation[below(2)], ring.mem_info(80 * kMiB, kMiB));
            if (below(20) == 0) ring.boundary(ring.step(i + 1));
            if (below(30) == 0) fail(ring);
            if (ring.options().standby && below(10) == 0) change_arming(ring);
        }
        fail(ring);
        if (below(2) == 0) ring.exit(1);
    }

    static void change_arming(RingWriter& ring) {
        if (ring.header().arm_state == wire::ArmState::recording) {
            ring.disarm();
        } else {
            ring.arm();
        }
    }

    void fail(RingWriter& ring) {
        const uint64_t failed = ring.call_failed(wire::Op::cudaMalloc, 20 * kMiB, 2, true);
        const uint64_t observed = ring.mem_info(80 * kMiB, kMiB);
        wire::Record operation = {};
        operation.kind = wire::Kind::operation;
        operation.address = 20 * kMiB;
        operation.size = 20 * kMiB;
        operation.link = failed;
        std::memcpy(operation.tail, &observed, 8);
        ring.record(operation);
        ring.keyframe(static_cast<uint32_t>(below(4)), ring.block_oom(8 * kMiB), {failed, observed});
    }

    void damage(RingWriter& ring) {
        switch (below(6)) {
            case 0:
                damage_record(ring.at(below(ring.header().head)));
                break;
            case 1:
                damage_entry(ring);
                break;
            case 2:
                damage_header(ring);
                break;
            case 3:
                damage_keyframe(ring);
                break;
            case 4:
                damage_arming(ring.header());
                break;
            case 5:
                break;
        }
    }

    void damage_record(wire::Record& record) {
        const uint64_t field = below(8);
        if (field == 0) record.kind = static_cast<wire::Kind>(below(90));
        if (field == 1) record.address = strange();
        if (field == 2) record.size = strange();
        if (field == 3) record.link = strange();
        if (field == 4) record.device = static_cast<int8_t>(below(256));
        if (field == 5) record.flags = static_cast<uint8_t>(below(256));
        if (field == 6) record.op = static_cast<wire::Op>(below(256));
        if (field == 7) std::memset(record.tail, static_cast<int>(below(256)), sizeof record.tail);
        if (below(8) != 0) RingWriter::seal(record);
    }

    void damage_entry(RingWriter& ring) {
        if (ring.table().empty()) return;
        wire::LiveEntry& entry = ring.table()[below(ring.table().size())];
        const uint64_t field = below(6);
        if (field == 0) entry.state = strange();
        if (field == 1) entry.address = strange();
        if (field == 2) entry.size = strange();
        if (field == 3) entry.birth_ticket = strange();
        if (field == 4) entry.object = static_cast<wire::Object>(below(20));
        if (field == 5) entry.device = static_cast<int8_t>(below(256));
        if (below(8) != 0) RingWriter::seal(entry);
    }

    void damage_arming(wire::Header& header) {
        const uint64_t field = below(5);
        if (field == 0) header.arm_state = static_cast<wire::ArmState>(below(4));
        if (field == 1) header.armed_from = below(2) == 0 ? below(header.head + 2) : strange();
        if (field == 2) header.disarmed_at = below(2) == 0 ? below(header.head + 3) : strange();
        if (field == 3) header.initial_until = strange();
        if (field == 4) header.start_mode = static_cast<wire::StartMode>(below(3));
    }

    void damage_keyframe(RingWriter& ring) {
        const wire::Area& area = ring.header().areas[static_cast<size_t>(wire::AreaId::keyframes)];
        keyframe_damage_ =
            area.offset_bytes + below(area.entry_count) * area.entry_bytes + below(area.entry_bytes / 4) * 4;
    }

    // The areas stay: without them the writer itself could not go on. flip() damages those.
    void damage_header(RingWriter& ring) {
        const wire::Header before = ring.header();
        reinterpret_cast<uint32_t*>(&ring.header())[below(sizeof(wire::Header) / 4)] =
            static_cast<uint32_t>(strange());
        std::memcpy(ring.header().areas, before.areas, sizeof before.areas);
        ring.header().boundary_count = std::min(ring.header().boundary_count, 64U);
        ring.header().head = std::min(ring.header().head, before.head + 1000);
    }

    void flip(std::vector<std::byte>& bytes) {
        const uint64_t at = keyframe_damage_ != 0 ? keyframe_damage_
                            : below(2) == 0       ? below(768)
                                                  : below(bytes.size());
        bytes[at] ^= static_cast<std::byte>(1 + below(255));
        keyframe_damage_ = 0;
    }

    std::mt19937_64 random_;
    uint64_t keyframe_damage_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    for (uint64_t round = 0; round < rounds; ++round) {
        if (round % 100 == 0)
            std::printf("round %llu of seed %llu\n", static_cast<unsigned long long>(round),
                        static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        const std::vector<std::byte> bytes = Mutator(seed << 32 | round).make();
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
}
