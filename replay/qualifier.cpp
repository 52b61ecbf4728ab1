// SPDX-License-Identifier: Apache-2.0
//
// Names of the qualifiers, from the table in qualifier.h.
#include "qualifier.h"

#include <algorithm>
#include <array>

namespace memsnap {
namespace {

#define MEMSNAP_NAME(name) #name,
constexpr std::array<std::string_view, kQualifierCount> kNames = {
    MEMSNAP_VERDICT_QUALIFIERS(MEMSNAP_NAME) MEMSNAP_HYPOTHESIS_QUALIFIERS(MEMSNAP_NAME)};
#undef MEMSNAP_NAME

}  // namespace

std::string_view name(Qualifier qualifier) {
    return kNames[static_cast<unsigned>(qualifier)];
}

std::vector<std::string_view> Qualifiers::names() const {
    std::vector<std::string_view> present;
    for (unsigned index = 0; index < kQualifierCount; ++index) {
        const auto qualifier = static_cast<Qualifier>(index);
        if (has(qualifier)) present.push_back(name(qualifier));
    }
    std::ranges::sort(present);
    return present;
}

}  // namespace memsnap
