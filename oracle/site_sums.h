// SPDX-License-Identifier: Apache-2.0
//
// Blocks summed by birth site. Rule: made from the blocks of one instant, and never kept for another.
#pragma once

#include <map>

#include "categories.h"
#include "scene.h"

namespace oracle {

struct SiteSum {
    Site site;
    Int bytes = 0;
    u64 block_count = 0;
    std::array<Int, kCategories> category_bytes{};
    u64 first_step = kNoTicket, last_step = 0;
    const Life* oldest = nullptr;
    const Life* largest = nullptr;  ///< the first such by address

    /// The one that most bytes have; the earlier one where two have as many.
    Category category() const;
};

/// `blocks`: by address, as they are after the event of the ticket.
std::map<Site, SiteSum> sum_by_site(const std::vector<const Life*>& blocks, u64 ticket);

}  // namespace oracle
