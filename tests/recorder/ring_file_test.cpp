// SPDX-License-Identifier: Apache-2.0
#include "ring_file.h"

#include "catch.h"
#include "ring_layout.h"

using namespace memsnap;
using namespace memsnap::recorder;

namespace {

Settings some_settings(uint32_t table_entry_count = 64) {
    Settings settings{};
    settings.ring_bytes = uint64_t{1} << 20;
    settings.table_entry_count = table_entry_count;
    settings.boundary_entry_count = 65536;
    return settings;
}

const wire::Area& area(const Layout& layout, wire::AreaId id) {
    return layout.areas[static_cast<uint32_t>(id)];
}

}  // namespace

TEST_CASE("Areas follow each other, aligned and large enough for their entries") {
    for (wire::ArmState state : {wire::ArmState::recording, wire::ArmState::standby}) {
        Layout layout = choose_layout(some_settings(), state);
        uint64_t end = wire::kAreaAlignment_bytes;
        for (const wire::Area& one : layout.areas) {
            if (one.entry_count == 0) continue;
            CHECK(one.offset_bytes == end);
            CHECK(one.offset_bytes % wire::kAreaAlignment_bytes == 0);
            CHECK(one.size_bytes % wire::kAreaAlignment_bytes == 0);
            CHECK(uint64_t{one.entry_bytes} * one.entry_count <= one.size_bytes);
            end = one.offset_bytes + one.size_bytes;
        }
        CHECK(layout.file_bytes == end);
    }
    CHECK(area(choose_layout(some_settings(), wire::ArmState::recording), wire::AreaId::ring).entry_count ==
          16384);
}

TEST_CASE("A file that waits to be armed is a header alone") {
    Layout layout = choose_layout(some_settings(), wire::ArmState::cold);
    CHECK(layout.file_bytes == wire::kAreaAlignment_bytes);
    for (const wire::Area& one : layout.areas) {
        CHECK(one.size_bytes == 0);
        CHECK(one.entry_count == 0);
    }
}

TEST_CASE("In standby the ring has no entries, goes behind the end, and a fifth slot keeps a state") {
    Settings settings = some_settings();
    Layout layout = choose_layout(settings, wire::ArmState::standby);
    const wire::Area& ring = area(layout, wire::AreaId::ring);
    CHECK(ring.entry_count == 0);
    CHECK(ring.size_bytes == 0);
    CHECK(ring.offset_bytes == layout.file_bytes);
    CHECK(area(layout, wire::AreaId::keyframes).entry_count == wire::kDisarmedSlot + 1);
    CHECK(ring_at(layout.file_bytes, settings).entry_count == 16384);
    CHECK(ring_at(layout.file_bytes, settings).offset_bytes == layout.file_bytes);
}

TEST_CASE("A keyframe slot holds a whole table") {
    Layout layout = choose_layout(some_settings(131072), wire::ArmState::recording);
    const wire::Area& keyframes = area(layout, wire::AreaId::keyframes);
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
