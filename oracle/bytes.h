// SPDX-License-Identifier: Apache-2.0
//
// Little-endian integers out of a run of bytes. Rule: every read is checked; what lies outside reads as
// absent.
#pragma once

#include <optional>
#include <span>

#include "numbers.h"

namespace oracle {

using Bytes = std::span<const std::byte>;

/// The part [offset, offset + size), or nothing when it does not lie inside.
inline std::optional<Bytes> part(Bytes bytes, u64 offset, u64 size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

/// The unsigned integer of `width` bytes at `offset`, 0 where the bytes end before it does.
inline u64 integer(Bytes bytes, u64 offset, unsigned width) {
    auto found = part(bytes, offset, width);
    u64 value = 0;
    if (!found) return value;
    for (unsigned i = 0; i < width; ++i)
        value |= static_cast<u64>((*found)[i]) << (8 * i);
    return value;
}
inline u8 integer8(Bytes bytes, u64 offset) {
    return static_cast<u8>(integer(bytes, offset, 1));
}
inline u16 integer16(Bytes bytes, u64 offset) {
    return static_cast<u16>(integer(bytes, offset, 2));
}
inline u32 integer32(Bytes bytes, u64 offset) {
    return static_cast<u32>(integer(bytes, offset, 4));
}
inline u64 integer40(Bytes bytes, u64 offset) {
    return integer(bytes, offset, 5);
}
inline u64 integer64(Bytes bytes, u64 offset) {
    return integer(bytes, offset, 8);
}

}  // namespace oracle
