// SPDX-License-Identifier: Apache-2.0
//
// CRC32C (Castagnoli, reflected, initial and final complement). The rule: the processor's instruction where
// it has one, found out at run time, and a table elsewhere; both give the same number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace memsnap {

// `crc` is 0 for the first part, else the result so far.
uint32_t crc32c(uint32_t crc, std::span<const std::byte> bytes);

// The table's result, for the test that compares.
uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> bytes);

}  // namespace memsnap
