// SPDX-License-Identifier: Apache-2.0
//
// What the ordinals of an event ledger stand for. The rule: element i is ordinal i + 1; those that the
// receipt has come first, in its order.
#pragma once

#include <cstdint>
#include <vector>

#include "site_key.h"

namespace memsnap {

struct LedgerNumbers {
    std::vector<SiteKey> sites;
    std::vector<uint64_t> phases;      // folded name ids
    std::vector<uint64_t> libraries;   // numbers; the receipt's, and no others
    std::vector<uint64_t> dimensions;  // name ids
};

}  // namespace memsnap
