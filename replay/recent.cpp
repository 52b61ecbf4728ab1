// SPDX-License-Identifier: Apache-2.0
//
// The log from its oldest entry on.
#include "recent.h"

#include <algorithm>

namespace memsnap {

std::vector<RecentBirth> RecentLog::births(const Ledger& ledger) const {
    std::vector<RecentBirth> births;
    std::vector<uint16_t> threads;
    for (uint64_t at = count_ - std::min<uint64_t>(count_, kKept_count); at < count_; ++at) {
        const Event& event = events_[at % kKept_count];
        const Block* const block = ledger.find_block(event.address);
        const auto known = std::ranges::find(threads, event.thread);
        const auto ordinal = static_cast<uint64_t>(known - threads.begin()) + 1;
        if (known == threads.end()) threads.push_back(event.thread);
        births.push_back({event.ticket, event.size_bytes, site_key(event.site(), event.size_bytes),
                          block != nullptr && block->birth_ticket == event.ticket, ordinal});
    }
    return births;
}

}  // namespace memsnap
