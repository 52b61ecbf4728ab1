// SPDX-License-Identifier: Apache-2.0
//
// Stacks, code objects and loaded objects of a sidecar: found by id, and damage in one is damage of the file.
#include "reader_sites.h"

#include "sidecar_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

void add_object(SidecarWriter& sidecar, uint64_t begin, uint64_t end, uint32_t generation,
                std::string_view path) {
    sidecar.object(begin, end, begin, static_cast<uint16_t>(generation), {}, path);
}

std::string path_at(const Names& names, uint64_t token, uint64_t address) {
    const auto stack = names.sites.stack(token);
    REQUIRE(stack);
    const auto number = names.sites.object_at(address, *stack);
    return number ? names.sites.object(*number)->path : "";
}

}  // namespace

TEST_CASE("a stack is found by its token, with its frames innermost first") {
    Named named;
    named.sidecar.stack(99, {frame_at(5, 3), frame_at(6, 0)}, {0x1234}, 0, wire::kStackPythonCut);
    named.sidecar.stack(7, {});
    named.sidecar.stack(99, {});
    const Names names = named.names();
    const auto stack = names.sites.stack(99);
    REQUIRE(stack);
    REQUIRE(stack->python.size() == 2);
    CHECK(stack->python[0].code == 5);
    CHECK(stack->python[0].instruction_bytes == 6);
    CHECK(stack->python[1].code == 6);
    CHECK(stack->native == std::vector<uint64_t>{0x1234});
    CHECK(stack->python_cut);
    CHECK(!stack->native_cut);
    CHECK(names.sites.stack(7)->python.empty());
    CHECK(!names.sites.stack(8));
    CHECK(!names.sites.stack(0));
}

TEST_CASE("a code object is found by its id") {
    Named named;
    const std::vector<std::byte> table = line_a_unit(3);
    named.sidecar.code(2, 40, kPython312, "/home/someone/train.py", "Net.forward", table);
    named.sidecar.code(2, 40, kPython312, "other.py", "other");
    const Names names = named.names();
    const auto code = names.sites.code(2);
    REQUIRE(code);
    CHECK(code->first_line == 40);
    CHECK(code->python_major == 3);
    CHECK(code->python_minor == 12);
    CHECK(code->file == "/home/someone/train.py");
    CHECK(code->function == "Net.forward");
    CHECK(code->line_table == table);
    CHECK(!names.sites.code(1));
    CHECK(!names.sites.code(0));
}

TEST_CASE("a return address lies in the last object written there up to the stack's generation") {
    Named named;
    add_object(named.sidecar, 0x1000, 0x2000, 0, "/lib/first.so");
    named.sidecar.stack(1, {}, {0x1800}, 0);
    add_object(named.sidecar, 0x1800, 0x2800, 1, "/lib/second.so");
    named.sidecar.stack(2, {}, {0x1800}, 1);
    add_object(named.sidecar, 0x1000, 0x3000, 3, "/lib/third.so");
    const Names names = named.names();
    CHECK(path_at(names, 1, 0x1900) == "/lib/first.so");
    CHECK(path_at(names, 2, 0x1900) == "/lib/second.so");
    CHECK(path_at(names, 2, 0x1400) == "/lib/first.so");
    CHECK(path_at(names, 1, 0x2100).empty());
    CHECK(path_at(names, 1, 0x2000) == "/lib/first.so");  // behind a call that ends the object
    CHECK(path_at(names, 1, 0x1000).empty());             // before its first byte there is no call
}

TEST_CASE("generations go on behind 65535") {
    Named named;
    add_object(named.sidecar, 0x1000, 0x2000, 0, "/lib/old.so");
    for (uint32_t generation = 20000; generation <= 60000; generation += 20000)
        add_object(named.sidecar, 0x1000, 0x2000, generation, "/lib/new.so");
    add_object(named.sidecar, 0x5000, 0x6000, 70000 & 0xffff, "/lib/elsewhere.so");
    named.sidecar.stack(1, {}, {}, 70001 & 0xffff);
    add_object(named.sidecar, 0x1000, 0x2000, 70002 & 0xffff, "/lib/later.so");
    CHECK(path_at(named.names(), 1, 0x1800) == "/lib/new.so");
}

TEST_CASE("an entry whose parts do not fit makes the sidecar none") {
    const auto problem = [](void (*add)(SidecarWriter&)) {
        Named named;
        named.sidecar.add(7, "libnccl.so.2");
        named.sidecar.stack(5, {1});
        add(named.sidecar);
        const Names names = named.names();
        CHECK(names.libraries.empty());
        CHECK(!names.sites.stack(5));
        return names.problem;
    };
    CHECK(problem([](SidecarWriter& s) { s.add(1, "short", wire::NameKind::code); }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) { s.add(1, "short", wire::NameKind::stack); }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) { s.add(1, "short", wire::NameKind::object); }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) {
              s.stack(1, {1, 2}, {3});
              ++s.last<wire::StackEntry>().native_count;
          }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) {
              s.stack(1, {1, 2});
              s.last<wire::StackEntry>().python_count = 65535;
          }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) {
              s.code(1, 40, kPython312, "a.py", "f");
              s.last<wire::CodeEntry>().line_table_bytes = 1;
          }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) {
              add_object(s, 0x1000, 0x2000, 0, "/lib/a.so");
              ++s.last<wire::ObjectEntry>().path_bytes;
          }) == "is damaged");
    CHECK(problem([](SidecarWriter& s) { add_object(s, 0x2000, 0x1000, 0, "/lib/a.so"); }) == "is damaged");
}

TEST_CASE("an entry larger than a recorder makes one makes the sidecar none") {
    const auto problem = [](auto add) {
        Named named;
        add(named.sidecar);
        return named.names().problem;
    };
    using Words = std::vector<uint64_t>;
    CHECK(problem([](auto& s) { s.stack(1, Words(255), Words(255)); }).empty());
    CHECK(problem([](auto& s) { s.stack(1, Words(256)); }) == "is damaged");
    CHECK(problem([](auto& s) { s.stack(1, {}, Words(256)); }) == "is damaged");
    const auto text = [](size_t size_bytes) { return std::string(size_bytes, 'x'); };
    CHECK(problem([&](auto& s) { s.code(1, 1, kPython312, text(1023), text(511)); }).empty());
    CHECK(problem([&](auto& s) { s.code(1, 1, kPython312, text(1024), ""); }) == "is damaged");
    CHECK(problem([&](auto& s) { s.code(1, 1, kPython312, "", text(512)); }) == "is damaged");
    const auto id = [](size_t size_bytes) { return std::vector<std::byte>(size_bytes); };
    CHECK(problem([&](auto& s) { s.object(0, 1, 0, 0, id(64), text(4095)); }).empty());
    CHECK(problem([&](auto& s) { s.object(0, 1, 0, 0, id(65), ""); }) == "is damaged");
    CHECK(problem([&](auto& s) { s.object(0, 1, 0, 0, {}, text(4096)); }) == "is damaged");
}

TEST_CASE("a file that shrank after it was walked over gives nothing more") {
    Named named;
    named.sidecar.stack(1, {frame_at(5, 3)});
    named.sidecar.code(5, 40, kPython312, "a.py", "f");
    const Names names = named.names();
    std::filesystem::resize_file(named.folder.file("ring.bin.names"), 70);
    CHECK(!names.sites.stack(1));
    CHECK(!names.sites.code(5));
}
