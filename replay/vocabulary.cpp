// SPDX-License-Identifier: Apache-2.0
//
// Names and properties of the vocabularies, made from their lists.
#include "vocabulary.h"

#include <array>

namespace memsnap {

#define MEMSNAP_NAME_CASE(name, number, ...) \
    case Enum::name:                         \
        return #name;
#define MEMSNAP_NAMES(type, list)                  \
    std::string_view name(type value) {            \
        using Enum = type;                         \
        switch (value) { list(MEMSNAP_NAME_CASE) } \
        return "unknown";                          \
    }

MEMSNAP_NAMES(Kind, MEMSNAP_KINDS)
MEMSNAP_NAMES(Object, MEMSNAP_OBJECTS)
MEMSNAP_NAMES(BoundaryFamily, MEMSNAP_BOUNDARY_FAMILIES)
MEMSNAP_NAMES(RangeFamily, MEMSNAP_FAMILIES)
MEMSNAP_NAMES(Category, MEMSNAP_CATEGORIES)
MEMSNAP_NAMES(CapSource, MEMSNAP_CAP_SOURCES)
MEMSNAP_NAMES(Blind, MEMSNAP_BLINDS)
MEMSNAP_NAMES(Sampling, MEMSNAP_SAMPLINGS)
MEMSNAP_NAMES(TapState, MEMSNAP_TAP_STATES)
MEMSNAP_NAMES(StackWish, MEMSNAP_STACK_WISHES)
MEMSNAP_NAMES(PythonStacks, MEMSNAP_PYTHON_STACKS)
MEMSNAP_NAMES(NativeStacks, MEMSNAP_NATIVE_STACKS)
MEMSNAP_NAMES(LibraryRole, MEMSNAP_LIBRARY_ROLES)
MEMSNAP_NAMES(ClockSource, MEMSNAP_CLOCK_SOURCES)
MEMSNAP_NAMES(StartMode, MEMSNAP_START_MODES)
MEMSNAP_NAMES(ArmState, MEMSNAP_ARM_STATES)
MEMSNAP_NAMES(Channel, MEMSNAP_CHANNELS)
MEMSNAP_NAMES(JobKeySource, MEMSNAP_JOB_KEYS)
MEMSNAP_NAMES(Trouble, MEMSNAP_TROUBLES)

std::string_view name(Origin origin) {
    using Enum = Origin;
    switch (origin) {
        MEMSNAP_ORIGINS(MEMSNAP_NAME_CASE)
        case Origin::unknown:
            break;
    }
    return "unknown";
}

#undef MEMSNAP_NAMES
#undef MEMSNAP_NAME_CASE

namespace {

struct OpFacts {
    std::string_view name;
    OpRole role = OpRole::none;
    Object object = Object::none;
};

constexpr std::array<OpFacts, 256> make_ops() {
    std::array<OpFacts, 256> ops = {};
#define MEMSNAP_OP_ROW(name, number, role, object) ops[number] = {#name, OpRole::role, Object::object};
    MEMSNAP_OPS(MEMSNAP_OP_ROW)
#undef MEMSNAP_OP_ROW
    return ops;
}

constexpr std::array<OpFacts, 256> kOps = make_ops();

const OpFacts& facts(Op op) {
    return kOps[static_cast<size_t>(op)];
}

}  // namespace

std::string_view name(Op op) {
    return facts(op).name;
}
OpRole role(Op op) {
    return facts(op).role;
}
Object object_of(Op op) {
    return facts(op).object;
}

bool frees_many(Op op) {
    return role(op) == OpRole::frees &&
           (object_of(op) == Object::context || object_of(op) == Object::mapping);
}

#define MEMSNAP_NUMBER_CASE(name, number, ...) \
    case number:                               \
        return Enum::name;

std::optional<Kind> kind_of_number(uint8_t number) {
    using Enum = Kind;
    if (number == 0) return std::nullopt;  // no kind of the format: `none` is ours
    switch (number) { MEMSNAP_KINDS(MEMSNAP_NUMBER_CASE) }
    return std::nullopt;
}
std::optional<Object> object_of_number(uint8_t number) {
    using Enum = Object;
    switch (number) { MEMSNAP_OBJECTS(MEMSNAP_NUMBER_CASE) }
    return std::nullopt;
}
#undef MEMSNAP_NUMBER_CASE

std::optional<Op> op_of_number(uint8_t number) {
    if (kOps[number].name.empty()) return std::nullopt;
    return static_cast<Op>(number);
}

bool is_device_memory(Object object) {
    switch (object) {
        case Object::block:
        case Object::device:
        case Object::array:
        case Object::async:
        case Object::vmm_handle:
            return true;
        case Object::none:
        case Object::managed:
        case Object::host:
        case Object::mapping:
        case Object::reservation:
        case Object::pool:
        case Object::import:
        case Object::multicast:
        case Object::context:
        case Object::graph_node:
            return false;
    }
    return false;
}

}  // namespace memsnap
