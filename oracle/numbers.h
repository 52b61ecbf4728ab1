// SPDX-License-Identifier: Apache-2.0
//
// The numbers the oracle counts in. Rule: arithmetic never wraps, so sums and differences are of 128 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace oracle {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ typedef __int128 Int;

/// No such ticket, no such birth, never.
inline constexpr u64 kNoTicket = ~u64{0};

inline Int less(Int a, Int b) {
    return a > b ? a - b : Int{0};
}

inline std::string digits(Int value) {
    if (value == 0) return "0";
    std::string text;
    for (Int rest = value; rest != 0; rest /= 10) {
        auto digit = static_cast<int>(rest % 10);
        text.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    }
    if (value < 0) text.push_back('-');
    std::reverse(text.begin(), text.end());
    return text;
}

}  // namespace oracle
