// SPDX-License-Identifier: Apache-2.0
//
// Rounding and splitting as c10/cuda/CUDACachingAllocator does them.
#include "allocator_rule.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace memsnap::snapshot {

namespace {

constexpr uint64_t kLargeRest_bytes = uint64_t{1} << 20;  // a rest of at most this stays with the block
constexpr int kFirstPower = 20;                           // of the table of divisions: 1 MiB

int power(uint64_t value) {
    return static_cast<int>(std::bit_width(value)) - 1;
}

size_t division_index(uint64_t bytes) {
    return static_cast<size_t>(std::clamp(power(bytes) - kFirstPower, 0, 15));
}

// Up to the next of `divisions` equal steps between two powers of two.
uint64_t next_division(uint64_t bytes, uint64_t divisions) {
    if (std::has_single_bit(bytes)) return bytes;
    const uint64_t below = std::bit_floor(bytes);
    const uint64_t step = below >> power(divisions);
    if (step == 0) return below << 1;
    const uint64_t floor = bytes & ~(step - 1);
    return floor == bytes ? bytes : floor + step;
}

}  // namespace

AllocatorRule::AllocatorRule(const Settings& settings)
    : max_split_size_bytes_(settings.max_split_size_bytes.value_or(std::numeric_limits<uint64_t>::max())) {
    for (const auto& [bound_mib, divisions] : settings.roundup_power2_divisions) {
        if (bound_mib == 0) std::ranges::fill(divisions_, divisions);
        if (bound_mib != 0)
            divisions_[std::min<size_t>(static_cast<size_t>(power(bound_mib)), 15)] = divisions;
    }
}

uint64_t AllocatorRule::rounded_bytes(uint64_t requested_bytes) const {
    if (requested_bytes < kGranule_bytes) return kGranule_bytes;
    const uint64_t divisions = divisions_[division_index(requested_bytes)];
    const bool divides = divisions > 1 && requested_bytes / divisions >= kGranule_bytes &&
                         requested_bytes > kGranule_bytes * divisions;
    return divides ? least_granted_bytes(next_division(requested_bytes, divisions))
                   : least_granted_bytes(requested_bytes);
}

uint64_t AllocatorRule::granted_bytes(uint64_t requested_bytes, uint64_t hole_bytes, bool expandable) const {
    const uint64_t rounded = rounded_bytes(requested_bytes);
    if (rounded >= hole_bytes) return hole_bytes;
    const uint64_t rest = hole_bytes - rounded;
    const bool fine = rounded <= kSmallRequest_bytes || expandable;
    const bool splits =
        fine ? rest >= kGranule_bytes : rounded < max_split_size_bytes_ && rest > kLargeRest_bytes;
    return splits ? rounded : hole_bytes;
}

}  // namespace memsnap::snapshot
