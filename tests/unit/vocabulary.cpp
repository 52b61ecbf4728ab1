// SPDX-License-Identifier: Apache-2.0
//
// The vocabularies: every number of the wire is known, and nothing else is.
#include "vocabulary.h"

#include <set>
#include <string>

#include "catch.h"
#include "ring_writer.h"

using namespace memsnap;

TEST_CASE("the kinds, objects and calls known are those of the wire format, by number and name") {
    int kinds = 0, objects = 0, ops = 0;
    std::set<std::string_view> names;
    for (int number = 0; number < 256; ++number) {
        const auto byte = static_cast<uint8_t>(number);
        if (const auto kind = kind_of_number(byte)) {
            ++kinds;
            CHECK(static_cast<int>(*kind) == number);
            CHECK(name(*kind) != "unknown");
        }
        if (const auto object = object_of_number(byte)) {
            ++objects;
            CHECK(static_cast<int>(*object) == number);
        }
        if (const auto op = op_of_number(byte)) {
            ++ops;
            CHECK(static_cast<int>(*op) == number);
            CHECK(names.insert(name(*op)).second);
        }
    }
    CHECK(kinds == 34);
    CHECK(!kind_of_number(0));  // `none` is a word of ours, not of the format
    CHECK(objects == 15);
    CHECK(ops == 100);
    CHECK(name(Kind::tap_oom) == "tap_oom");
    CHECK(name(Op::cuMemCreate) == "cuMemCreate");
    CHECK(static_cast<int>(wire::Op::cuGraphLaunch) == static_cast<int>(Op::cuGraphLaunch));
}

TEST_CASE("each allocating call has a class of objects, and each class a call that frees it") {
    std::set<Object> made, freed;
    for (int number = 0; number < 256; ++number) {
        const auto op = op_of_number(static_cast<uint8_t>(number));
        if (!op) continue;
        const bool has_object = role(*op) == OpRole::allocates || role(*op) == OpRole::frees;
        CHECK((object_of(*op) != Object::none) == has_object);
        if (role(*op) == OpRole::allocates) made.insert(object_of(*op));
        if (role(*op) == OpRole::frees) freed.insert(object_of(*op));
    }
    made.erase(Object::managed);    // freed by cudaFree, as device memory is
    made.erase(Object::multicast);  // released as a handle is
    CHECK(frees_many(Op::cuCtxDestroy));
    CHECK(frees_many(Op::cuMemUnmap));
    CHECK_FALSE(frees_many(Op::cudaFree));
    CHECK(made == freed);
    CHECK(is_device_memory(Object::device));
    CHECK(!is_device_memory(Object::host));
    CHECK(!is_device_memory(Object::managed));
    CHECK(!is_device_memory(Object::import));
}
