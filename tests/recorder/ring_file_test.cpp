// SPDX-License-Identifier: Apache-2.0
#include "ring_file.h"

#include "catch.h"

using namespace memsnap;
using namespace memsnap::recorder;

TEST_CASE("Areas follow each other, aligned and large enough for their entries") {
    wire::Area areas[wire::kAreaCount] = {};
    uint64_t file_bytes = lay_out(uint64_t{1} << 20, 64, 65536, areas);
    uint64_t end = wire::kAreaAlignment_bytes;
    for (const wire::Area& one : areas) {
        CHECK(one.offset_bytes == end);
        CHECK(one.offset_bytes % wire::kAreaAlignment_bytes == 0);
        CHECK(one.size_bytes % wire::kAreaAlignment_bytes == 0);
        CHECK(uint64_t{one.entry_bytes} * one.entry_count <= one.size_bytes);
        end = one.offset_bytes + one.size_bytes;
    }
    CHECK(file_bytes == end);
    CHECK(areas[static_cast<uint32_t>(wire::AreaId::ring)].entry_count == 16384);
}

TEST_CASE("A keyframe slot holds a whole table") {
    wire::Area areas[wire::kAreaCount] = {};
    lay_out(uint64_t{1} << 20, 131072, 65536, areas);
    const wire::Area& keyframes = areas[static_cast<uint32_t>(wire::AreaId::keyframes)];
    uint64_t parts =
        sizeof(wire::Keyframe) + sizeof(wire::Record) * (64 + 4096) + 32 * sizeof(wire::PinnedDevice);
    CHECK(keyframes.entry_bytes >= parts + 131072 * sizeof(wire::LiveEntry));
    CHECK(keyframes.entry_count == 4);
}

TEST_CASE("Network, user-space and copy-on-write file systems do not suit, local ones do") {
    CHECK_FALSE(file_system_suits(0x6969));      // NFS
    CHECK_FALSE(file_system_suits(0x65735546));  // FUSE
    CHECK_FALSE(file_system_suits(0x9123683e));  // Btrfs
    CHECK(file_system_suits(0xef53));            // ext4
    CHECK(file_system_suits(0x01021994));        // tmpfs
    CHECK(file_system_suits(0x58465342));        // XFS
    CHECK(file_system_suits(0x794c7630));        // overlayfs, as in containers
}
