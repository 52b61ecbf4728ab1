// SPDX-License-Identifier: Apache-2.0
//
// One pass over the live blocks.
#include "peak_sites.h"

namespace memsnap {

PeakSites peak_sites(const Ledger& ledger, int device, uint64_t ticket) {
    SiteTable table;
    ledger.for_each_block(device, [&](const Block& block) { table.add(block); });
    std::vector<SiteShare> sites = table.take();
    PeakSites peak;
    peak.device = device;
    peak.ticket = ticket;
    peak.site_count = sites.size();
    for (const SiteShare& site : sites)
        peak.bytes += site.bytes;
    peak.rows = largest_sites(std::move(sites));
    return peak;
}

}  // namespace memsnap
