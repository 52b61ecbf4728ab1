// SPDX-License-Identifier: Apache-2.0
//
// Decimal text of 128-bit integers; {fmt} and iostreams print at most 64 bits portably.
#include "measure.h"

namespace memsnap {

std::string to_decimal(Wide value) {
    if (value == 0) return "0";
    std::string digits;
    // Work below zero: the lowest value has no positive counterpart.
    for (Wide rest = value > 0 ? -value : value; rest != 0; rest /= 10) {
        digits.push_back(static_cast<char>('0' - static_cast<int>(rest % 10)));
    }
    if (value < 0) digits.push_back('-');
    return {digits.rbegin(), digits.rend()};
}

}  // namespace memsnap
