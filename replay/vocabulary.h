// SPDX-License-Identifier: Apache-2.0
//
// The words of the replay: kinds, calls, object classes and states, each with its printed name. The rule: one
// list a vocabulary, from which the enumerators, the names and the reader's check against the wire numbers
// are made; the numbers are those of the wire, so a reader maps by looking up, never by guessing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "vocabulary_lists.h"

namespace memsnap {

#define MEMSNAP_ENUMERATOR(name, number, ...) name = number,

enum class Kind : uint8_t {
    MEMSNAP_KINDS(MEMSNAP_ENUMERATOR)
};

// What an address or handle is.
enum class Object : uint8_t {
    MEMSNAP_OBJECTS(MEMSNAP_ENUMERATOR)
};

enum class Op : uint8_t {
    MEMSNAP_OPS(MEMSNAP_ENUMERATOR)
};

enum class BoundaryFamily : uint16_t {
    MEMSNAP_BOUNDARY_FAMILIES(MEMSNAP_ENUMERATOR)
};
enum class RangeFamily : uint16_t {
    MEMSNAP_FAMILIES(MEMSNAP_ENUMERATOR)
};
// What a block is used for, as it was told; none: it was not.
enum class Category : uint16_t {
    MEMSNAP_CATEGORIES(MEMSNAP_ENUMERATOR)
};
inline constexpr size_t kCategoryCount = static_cast<size_t>(Category::activation) + 1;
enum class CapSource : uint16_t {
    MEMSNAP_CAP_SOURCES(MEMSNAP_ENUMERATOR)
};
// Why something was not hooked.
enum class Blind : uint16_t {
    MEMSNAP_BLINDS(MEMSNAP_ENUMERATOR)
};
inline constexpr size_t kBlindCount = static_cast<size_t>(Blind::original_missing) + 1;
// What the recorder could ask about the devices.
enum class Sampling : uint32_t {
    MEMSNAP_SAMPLINGS(MEMSNAP_ENUMERATOR)
};
// What became of the torch tap.
enum class TapState : uint32_t {
    MEMSNAP_TAP_STATES(MEMSNAP_ENUMERATOR)
};
// What births get a site from: what was wanted, and what became of it.
enum class StackWish : uint8_t {
    MEMSNAP_STACK_WISHES(MEMSNAP_ENUMERATOR)
};
enum class PythonStacks : uint8_t {
    MEMSNAP_PYTHON_STACKS(MEMSNAP_ENUMERATOR)
};
enum class NativeStacks : uint8_t {
    MEMSNAP_NATIVE_STACKS(MEMSNAP_ENUMERATOR)
};
enum class LibraryRole : uint8_t {
    MEMSNAP_LIBRARY_ROLES(MEMSNAP_ENUMERATOR)
};
enum class ClockSource : uint32_t {
    MEMSNAP_CLOCK_SOURCES(MEMSNAP_ENUMERATOR)
};
enum class StartMode : uint32_t {
    MEMSNAP_START_MODES(MEMSNAP_ENUMERATOR)
};
// Who told the events; unknown: a number that this build does not know, and so not the recorder.
enum class Origin : uint32_t {
    MEMSNAP_ORIGINS(MEMSNAP_ENUMERATOR) unknown = UINT32_MAX
};
enum class ArmState : uint32_t {
    MEMSNAP_ARM_STATES(MEMSNAP_ENUMERATOR)
};
// How the recorder came into the process.
enum class Channel : uint32_t {
    MEMSNAP_CHANNELS(MEMSNAP_ENUMERATOR)
};
enum class JobKeySource : uint32_t {
    MEMSNAP_JOB_KEYS(MEMSNAP_ENUMERATOR)
};
enum class Trouble : uint32_t {
    MEMSNAP_TROUBLES(MEMSNAP_ENUMERATOR)
};

#undef MEMSNAP_ENUMERATOR

// What a call does to the objects of a process.
enum class OpRole : uint8_t {
    none,
    allocates,
    frees,
    other
};

std::string_view name(Kind kind);
std::string_view name(Object object);
std::string_view name(Op op);
std::string_view name(BoundaryFamily family);
std::string_view name(RangeFamily family);
std::string_view name(Category category);
std::string_view name(CapSource source);
std::string_view name(Blind blind);
std::string_view name(Sampling sampling);
std::string_view name(TapState state);
std::string_view name(StackWish wish);
std::string_view name(PythonStacks stacks);
std::string_view name(NativeStacks stacks);
std::string_view name(LibraryRole role);
std::string_view name(ClockSource source);
std::string_view name(StartMode mode);
std::string_view name(Origin origin);
std::string_view name(ArmState state);
std::string_view name(Channel channel);
std::string_view name(JobKeySource source);
std::string_view name(Trouble trouble);

OpRole role(Op op);
// The class of object that a call makes or frees; Object::none for other calls.
Object object_of(Op op);
// Whether one call can end several objects: a context with what was made in it, a range of mappings.
bool frees_many(Op op);

// nullopt: a number this build does not know (a newer minor version), counted and skipped.
std::optional<Kind> kind_of_number(uint8_t number);
std::optional<Op> op_of_number(uint8_t number);
std::optional<Object> object_of_number(uint8_t number);

// Bytes that a device itself holds for this process: everything but host memory, handles without memory of
// their own and what belongs to another process.
bool is_device_memory(Object object);

}  // namespace memsnap
