// SPDX-License-Identifier: Apache-2.0
//
// The sidecar: read whole, or as if there were none.
#include "reader_names.h"

#include "sidecar_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

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
    CHECK(problem([](Named& named) { named.sidecar.first().payload_bytes = 60000; }) == "is damaged");
}

TEST_CASE("a sidecar that was too small for all texts is read as far as it goes") {
    Named named;
    named.sidecar.add(7, "libnccl.so.2");
    named.sidecar.header.used_bytes = UINT64_MAX;
    CHECK(named.names().problem.empty());
    CHECK(named.names().libraries.size() == 1);
}

TEST_CASE("texts of phases and dimensions are found by their name ids, which have 16 bits") {
    Named named;
    named.sidecar.add(3, "forward", wire::NameKind::name);
    named.sidecar.add(3, "another", wire::NameKind::name);
    named.sidecar.add(4, "a/b", wire::NameKind::name);
    named.sidecar.add(0, "none", wire::NameKind::name);
    named.sidecar.add(65536, "too far", wire::NameKind::name);
    const Names names = named.names();
    REQUIRE(names.text(3) != nullptr);
    CHECK(*names.text(3) == "forward");
    CHECK(*names.text(4) == "a/b");
    CHECK(names.text(5) == nullptr);
    CHECK(names.texts.size() == 2);
}

TEST_CASE("a sidecar larger than one look at it is read whole") {
    Named named;
    const std::string filler(60000, 'x');
    for (int count = 0; count < 40; ++count)
        named.sidecar.add(1, filler, static_cast<wire::NameKind>(9));
    named.sidecar.add(7, "libnccl.so.2");
    const Names names = named.names();
    CHECK(names.problem.empty());
    REQUIRE(names.of_library(*named.capture, 2) != nullptr);
}
