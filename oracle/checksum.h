// SPDX-License-Identifier: Apache-2.0
//
// CRC32C (Castagnoli, reflected, initial and final complement) of one or two runs of bytes. Rule: one plain
// table.
#pragma once

#include <span>

#include "numbers.h"

namespace oracle {

u32 crc32c(std::span<const std::byte> first, std::span<const std::byte> second = {});

}  // namespace oracle
