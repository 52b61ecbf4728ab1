// SPDX-License-Identifier: Apache-2.0
//
// Labels of the sites of one list. The rule: different sites have different labels; one that would read as
// another says more: what it called, who called it, the operator, the instruction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "site_label.h"

namespace memsnap {

// By token, which may be there more than once. Empty: nothing is known of it.
std::vector<std::string> site_labels(SiteNames& sites, std::span<const uint64_t> tokens, size_t columns_most,
                                     Letters letters);

}  // namespace memsnap
