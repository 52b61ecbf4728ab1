// SPDX-License-Identifier: Apache-2.0
//
// Damaged sidecars beside a right ring: whatever lies there, every stage that shows names ends, and a receipt
// with names passes its own check. `mutated_sidecars [rounds] [seed]`; a failure names its round.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "analysis.h"
#include "collapsed_output.h"
#include "encode.h"
#include "reader_names.h"
#include "receipt.h"
#include "report.h"
#include "sidecar_writer.h"

namespace {

using namespace memsnap;
using fixture::SidecarWriter;

constexpr const char* kEvents =
    "memsnap-events 1\nheader sidecar=1\nlibrary_entry 2 role=program name=x\nsegment s1 700MiB\n"
    "note batch 32\nphase begin forward\nalloc a s1+0 100MiB site=1\nalloc b s1+200MiB 30MiB site=2\nphase "
    "end\n"
    "call nccl cudaMalloc 64MiB library=2\nalloc c s1+300MiB 30MiB site=3\n"
    "failing 300MiB total=1GiB free=100MiB site=3\n";

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "mutated_sidecars: %s\n", what);
    std::abort();
}

class Mutator {
  public:
    Mutator(uint64_t seed, const std::array<uint8_t, 16>& ring_id) : random_(seed), ring_id_(ring_id) {}

    std::vector<std::byte> make() {
        SidecarWriter sidecar;
        std::ranges::copy(ring_id_, sidecar.header.ring_id);
        const uint64_t count = below(30);
        for (uint64_t entry = 0; entry < count; ++entry) {
            const uint64_t before_bytes = sidecar.header.used_bytes;
            add(sidecar);
            const bool has_payload = sidecar.header.used_bytes - before_bytes > sizeof(wire::NameEntry);
            if (has_payload && below(20) == 0) sidecar.last<uint16_t>() = static_cast<uint16_t>(below(70));
        }
        if (below(8) == 0) sidecar.header.used_bytes = random_();
        if (below(8) == 0) sidecar.header.file_bytes = below(20000);
        std::vector<std::byte> bytes = sidecar.bytes();
        for (uint64_t flips = below(4); flips > 0; --flips)
            bytes[below(4) == 0 ? below(bytes.size()) : 64 + below(1500)] ^=
                static_cast<std::byte>(1 + below(255));
        if (below(16) == 0) bytes.resize(below(bytes.size()));
        return bytes;
    }

  private:
    uint64_t below(uint64_t limit) { return random_() % limit; }
    std::string text() {
        std::string bytes(below(40), 'a');
        for (char& byte : bytes)
            byte = static_cast<char>(below(3) == 0 ? below(256) : "a/.<>:() "[below(9)]);
        return bytes;
    }
    std::vector<std::byte> table() {
        std::vector<std::byte> bytes(below(40));
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(below(256));
        return bytes;
    }
    void add(SidecarWriter& sidecar) {
        std::vector<uint64_t> python, native;
        switch (below(5)) {
            case 0:
                return sidecar.add(1 + below(8), text());
            case 1:
                return sidecar.add(1 + below(8), text(), wire::NameKind::name);
            case 2:
                return sidecar.code(1 + below(5),
                                    static_cast<uint32_t>(below(4) != 0 ? below(500) : random_()),
                                    static_cast<uint16_t>(3 << 8 | (8 + below(8))), text(), text(), table());
            case 3:
                for (uint64_t frames = below(5); frames > 0; --frames) {
                    python.push_back(below(6) << 32 | below(100));
                    native.push_back(0x1000 * below(40));
                }
                return sidecar.stack(1 + below(3), python, native, static_cast<uint16_t>(below(4)));
            default:
                return sidecar.object(0x1000 * below(20), 0x1000 * (15 + below(20)), random_(),
                                      static_cast<uint16_t>(below(4)), table(),
                                      below(2) == 0 ? "/proc/self/exe" : text());
        }
    }

    std::mt19937_64 random_;
    std::array<uint8_t, 16> ring_id_;
};

void show(const Capture& capture, const Analysis& analysis) {
    const Names names = read_names(capture);
    SiteNames sites(names);
    const Naming naming = {&sites, token_key("key"), true};
    require(write_receipt(capture, analysis, naming).has_value(), "a receipt that its own check refuses");
    require(!collapsed_text(capture, analysis, naming).empty(), "no collapsed lines");
    require(!render_report(capture, analysis, {}, names).empty(), "an empty report");
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::string folder = (std::filesystem::temp_directory_path() / "memsnap-fuzz-XXXXXX").string();
    require(::mkdtemp(folder.data()) != nullptr, "no folder to write to");
    const std::string ring = folder + "/ring.bin";
    const auto encoded = fixture::encode(kEvents);
    require(encoded.has_value(), "the text of events is wrong");
    std::ofstream(ring, std::ios::binary)
        .write(reinterpret_cast<const char*>(encoded->data()), static_cast<std::streamsize>(encoded->size()));
    const auto capture = Capture::read(ring);
    require(capture.has_value(), "the ring is not read");
    const auto analysis = analyse(*capture, {});
    require(analysis.has_value(), "the ring is not analysed");
    for (uint64_t round = 0; round < rounds; ++round) {
        if (round % 100 == 0)
            std::printf("round %llu of seed %llu\n", static_cast<unsigned long long>(round),
                        static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        const auto bytes = Mutator(seed << 32 | round, capture->header.ring_id).make();
        std::ofstream(ring + kNamesSuffix, std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        show(*capture, *analysis);
    }
    std::filesystem::remove_all(folder);
}
