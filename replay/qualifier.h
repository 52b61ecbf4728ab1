// SPDX-License-Identifier: Apache-2.0
//
// The closed list of qualifiers: what a verdict says beyond its four hypotheses. The rule: the list, its
// printed names and the place where each may stand are this one table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace memsnap {

// clang-format off
#define MEMSNAP_VERDICT_QUALIFIERS(X)                                                             \
    X(corrupt_size) X(inconsistent_numbers) X(larger_than_card) X(deferred_free)                  \
    X(deferred_free_possible) X(deferred_free_not_excluded) X(fit_ignored) X(fit_unexplained)     \
    X(driver_refused) X(cap) X(cap_or_driver_refused) X(cache_hoarding) X(cache_pinned)           \
    X(near_capacity) X(growth_unmarked) X(too_few_boundaries) X(boundaries_lapped)                \
    X(births_unknown) X(survived) X(fatal) X(blind) X(incomplete)
#define MEMSNAP_HYPOTHESIS_QUALIFIERS(X)                                                          \
    X(strict) X(combined) X(incompatible) X(would_fit_packed) X(jointly) X(inferred)              \
    X(holder_unknown) X(in_process) X(same_job) X(transient)
// clang-format on

#define MEMSNAP_ENUMERATOR(name) name,
enum class Qualifier : uint8_t {
    MEMSNAP_VERDICT_QUALIFIERS(MEMSNAP_ENUMERATOR) MEMSNAP_HYPOTHESIS_QUALIFIERS(MEMSNAP_ENUMERATOR)
};
#undef MEMSNAP_ENUMERATOR

inline constexpr unsigned kQualifierCount = static_cast<unsigned>(Qualifier::transient) + 1;
static_assert(kQualifierCount <= 64);

std::string_view name(Qualifier qualifier);

class Qualifiers {
  public:
    constexpr Qualifiers() = default;
    constexpr Qualifiers(Qualifier one) : bits_(bit(one)) {}

    constexpr bool has(Qualifier one) const { return (bits_ & bit(one)) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr void add(Qualifiers more) { bits_ |= more.bits_; }
    constexpr void add_if(bool condition, Qualifier one) {
        if (condition) bits_ |= bit(one);
    }
    constexpr Qualifiers common_with(Qualifiers other) const { return Qualifiers(bits_ & other.bits_); }
    constexpr Qualifiers joined_with(Qualifiers other) const { return Qualifiers(bits_ | other.bits_); }
    constexpr bool operator==(const Qualifiers&) const = default;

    // Sorted, as the receipt prints them.
    std::vector<std::string_view> names() const;

  private:
    constexpr explicit Qualifiers(uint64_t bits) : bits_(bits) {}
    static constexpr uint64_t bit(Qualifier one) { return uint64_t{1} << static_cast<unsigned>(one); }

    uint64_t bits_ = 0;
};

// The qualifiers that are themselves the answer: no hypothesis is primary, all four are rejected.
inline constexpr Qualifier kAnswers[] = {Qualifier::deferred_free, Qualifier::fit_ignored,
                                         Qualifier::driver_refused, Qualifier::cache_hoarding,
                                         Qualifier::cache_pinned};

}  // namespace memsnap
