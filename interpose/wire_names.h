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
    library = 1  // file name without its folder
};

// At a multiple of 8. The text follows, then zeros up to entry_bytes.
struct NameEntry {
    uint32_t entry_bytes;  // a multiple of 8; written last (release). 0: not finished
    NameKind kind;
    uint16_t text_bytes;
    uint64_t id;  // local name id
};

static_assert(sizeof(NamesHeader) == 64 && std::is_standard_layout_v<NamesHeader>);
static_assert(sizeof(NameEntry) == 16 && std::is_standard_layout_v<NameEntry>);

}  // namespace memsnap::wire
