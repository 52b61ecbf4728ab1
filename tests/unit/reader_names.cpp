// SPDX-License-Identifier: Apache-2.0
//
// The sidecar: read whole, or as if there were none.
#include "reader_names.h"

#include <algorithm>
#include <fstream>

#include "catch.h"
#include "ring_fixture.h"
#include "sidecar_writer.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

// A ring with one library of name id 7, and what is beside it.
struct Named {
    Folder folder;
    std::unique_ptr<Capture> capture;
    SidecarWriter sidecar;

    explicit Named(wire::Sidecar beside = wire::Sidecar::beside) {
        RingWriter ring;
        ring.header().sidecar = beside;
        ring.library_entry(2, wire::LibraryRole::program);
        ring.library_at(2).name = 7;
        ring.write(folder.file("ring.bin"));
        capture = std::make_unique<Capture>(std::move(*Capture::read(folder.file("ring.bin"))));
    }

    Names names(size_t file_bytes = SIZE_MAX) const {
        const std::vector<std::byte> bytes = sidecar.bytes();
        std::ofstream(folder.file("ring.bin.names"), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(std::min(file_bytes, bytes.size())));
        return read_names(*capture);
    }
};

}  // namespace

TEST_CASE("a library's text is found by its name id, among entries of other kinds") {
    Named named;
    named.sidecar.add(7, "another kind", static_cast<wire::NameKind>(9));
    named.sidecar.add(7, "libnccl.so.2");
    named.sidecar.add(8, "libother.so");
    const Names names = named.names();
    CHECK(names.problem.empty());
    REQUIRE(names.of_library(*named.capture, 2) != nullptr);
    CHECK(*names.of_library(*named.capture, 2) == "libnccl.so.2");
    CHECK(names.of_library(*named.capture, 1) == nullptr);
    CHECK(names.of_library(*named.capture, 999) == nullptr);
}

TEST_CASE("nothing behind an entry that was not finished is read") {
    Named named;
    named.sidecar.add(7, "a");
    named.sidecar.first().entry_bytes = 0;
    named.sidecar.add(7, "b");
    CHECK(named.names().problem.empty());
    CHECK(named.names().libraries.empty());
}

TEST_CASE("a recording that says there is no sidecar has none, whatever lies beside it") {
    Named named(wire::Sidecar::none);
    named.sidecar.add(7, "libnccl.so.2");
    const Names names = named.names();
    CHECK(names.libraries.empty());
    CHECK(names.problem.empty());
}

TEST_CASE("a sidecar that is missing, of another recording or damaged is none, and why is known") {
    const auto problem = [](void (*damage)(Named&), size_t file_bytes = SIZE_MAX) {
        Named named;
        named.sidecar.add(7, "libnccl.so.2");
        named.sidecar.add(8, "libother.so");
        damage(named);
        const Names names = named.names(file_bytes);
        CHECK(names.libraries.empty());
        return names.problem;
    };
    CHECK(read_names(*Named().capture).problem == "cannot be read");
    CHECK(problem([](Named& named) { named.sidecar.header.magic[0] = 0; }) == "is no such file");
    CHECK(problem([](Named& named) { named.sidecar.header.byte_order = 0x04030201; }) == "is no such file");
    CHECK(problem([](Named& named) { named.sidecar.header.version_major = 2; }) == "has another version");
    CHECK(problem([](Named& named) { named.sidecar.header.ring_id[3] = 99; }) ==
          "belongs to another recording");
    CHECK(problem([](Named&) {}, 100) == "is truncated");
    CHECK(problem([](Named&) {}, 10) == "is truncated");
    CHECK(problem([](Named& named) { named.sidecar.first().entry_bytes = 12; }) == "is damaged");
    CHECK(problem([](Named& named) { named.sidecar.first().entry_bytes = 16; }) == "is damaged");
    CHECK(problem([](Named& named) { named.sidecar.first().entry_bytes = 1U << 30; }) == "is damaged");
    CHECK(problem([](Named& named) { named.sidecar.first().text_bytes = 60000; }) == "is damaged");
}

TEST_CASE("a sidecar that was too small for all texts is read as far as it goes") {
    Named named;
    named.sidecar.add(7, "libnccl.so.2");
    named.sidecar.header.used_bytes = UINT64_MAX;
    CHECK(named.names().problem.empty());
    CHECK(named.names().libraries.size() == 1);
}
