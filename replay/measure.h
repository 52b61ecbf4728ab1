// SPDX-License-Identifier: Apache-2.0
//
// A number of evidence: an exact integer, an interval, or unknown, and how it came to be known. The rule: no
// number is invented; arithmetic on hostile 64-bit values is done in 128 bits, so it cannot wrap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace memsnap {

__extension__ typedef __int128 Wide;  // `__extension__`: the type is GCC's, and -Wpedantic objects to it

// Of the blocks of PyTorch's caching allocator.
inline constexpr uint64_t kGranule_bytes = 512;

enum class Provenance : uint8_t {
    unknown,
    observed,
    derived
};

struct Measure {
    uint64_t low = 0;
    uint64_t high = 0;
    Provenance provenance = Provenance::unknown;

    static constexpr Measure observed(uint64_t value) { return {value, value, Provenance::observed}; }
    static constexpr Measure derived(uint64_t value) { return {value, value, Provenance::derived}; }
    // Both ends belong to the interval.
    static constexpr Measure between(uint64_t low, uint64_t high) {
        return {std::min(low, high), std::max(low, high), Provenance::derived};
    }

    constexpr bool known() const { return provenance != Provenance::unknown; }
    constexpr bool exact() const { return known() && low == high; }
    constexpr bool operator==(const Measure&) const = default;
};

std::string to_decimal(Wide value);

}  // namespace memsnap
