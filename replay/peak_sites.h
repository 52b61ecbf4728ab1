// SPDX-License-Identifier: Apache-2.0
//
// Who held the memory when most was live: live blocks of a device by birth site, the largest sites of them.
// The rule: the state is looked at as it was then, categories too.
#pragma once

#include <cstdint>
#include <vector>

#include "ledger.h"
#include "site_table.h"

namespace memsnap {

struct PeakSites {
    int device = -1;
    uint64_t ticket = 0;
    uint64_t site_count = 0;
    uint64_t bytes = 0;
    std::vector<SiteShare> rows;  // the largest; their ordinals mean nothing
};

// `ledger` is the state at the ticket.
PeakSites peak_sites(const Ledger& ledger, int device, uint64_t ticket);

}  // namespace memsnap
