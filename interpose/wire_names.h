// SPDX-License-Identifier: Apache-2.0
//
// The sidecar `<file>.names`: the texts that a ring's local ids stand for. WIRE.md §11 describes it byte by
// byte; the rule is that of wire.h: what stands here is for ever.
#pragma once

#include <cstdint>
#include <type_traits>

namespace memsnap::wire {

inline constexpr uint8_t kNamesMagic[8] = {0x89, 'M', 'E', 'M', 'N', 'A', 'M', 'E'};
inline constexpr uint16_t kNamesVersionMajor = 1;
inline constexpr uint16_t kNamesVersionMinor = 0;

struct NamesHeader {
    uint8_t magic[8];
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t byte_order;  // kByteOrder of wire.h
    uint8_t ring_id[16];  // of the ring it belongs to
    uint64_t file_bytes;
    uint64_t used_bytes;  // offset behind the last entry begun
    uint64_t unused[2];
};

enum class NameKind : uint16_t {
    none = 0,
    library = 1,  // text: file name without its folder
    name = 2,     // text: of a phase, mark, dimension or module
    code = 3,     // a Python code object: CodeEntry, file name, qualified name, line table
    stack = 4,    // id: stack token. StackEntry, then the frames, innermost first
    object = 5    // a loaded object: ObjectEntry, build id, path
};

// At a multiple of 8. The payload follows, then zeros up to entry_bytes.
struct NameEntry {
    uint32_t entry_bytes;  // a multiple of 8; written last (release). 0: not finished
    NameKind kind;
    uint16_t payload_bytes;
    uint64_t id;  // local id, by kind
};

// python_version of a frame that PyTorch's tools told: Python's or a native one, of which the line alone is
// known, as first_line (0: not known).
inline constexpr uint16_t kFrameTold = 0;

struct CodeEntry {
    uint32_t first_line;
    uint16_t python_version;   // major << 8 | minor: how the line table is coded; or kFrameTold
    uint16_t file_name_bytes;  // UTF-8
    uint16_t name_bytes;       // UTF-8; the plain name before CPython 3.11
    uint16_t line_table_bytes;
};

// python_count words `code id << 32 | instruction` (instruction as the interpreter counts its own `lasti` in
// bytes), then native_count return addresses.
struct StackEntry {
    uint16_t python_count;
    uint16_t native_count;
    uint16_t flags;       // StackFlag
    uint16_t generation;  // of the loaded objects: how often some had been unloaded, modulo 2^16
};
enum StackFlag : uint16_t {
    kStackPythonCut = 1,  // there were more Python frames
    kStackNativeCut = 2,
};

// A loaded object from generation `generation` on, until another one overlaps it.
struct ObjectEntry {
    uint64_t begin;  // of its first loaded segment, and behind its last one
    uint64_t end;
    uint64_t bias;  // added by the linker to the file's addresses
    uint16_t generation;
    uint16_t build_id_bytes;
    uint16_t path_bytes;
    uint16_t unused;
};

static_assert(sizeof(NamesHeader) == 64 && std::is_standard_layout_v<NamesHeader>);
static_assert(sizeof(NameEntry) == 16 && std::is_standard_layout_v<NameEntry>);
static_assert(sizeof(CodeEntry) == 12 && std::is_standard_layout_v<CodeEntry>);
static_assert(sizeof(StackEntry) == 8 && std::is_standard_layout_v<StackEntry>);
static_assert(sizeof(ObjectEntry) == 32 && std::is_standard_layout_v<ObjectEntry>);

}  // namespace memsnap::wire
