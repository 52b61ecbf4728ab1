// SPDX-License-Identifier: Apache-2.0
//
// Two looks at the live blocks, and what differs between them.
#include "site_growth.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace memsnap {
namespace {

// kNoTicket: none in the window.
uint64_t last_event_to(const EventStream& events, uint64_t ticket) {
    uint64_t at = std::min(ticket + 1, events.end_ticket());
    while (at-- > events.begin_ticket()) {
        if (events.kind(at) != Kind::none) return at;
    }
    return kNoTicket;
}

}  // namespace

SiteGrowthWatch::SiteGrowthWatch(const Window& window, const Ledger& begin, const Matched& marked, int device)
    : device_(device) {
    if (marked.basis != GrowthBasis::marked) return;
    const uint64_t begin_ticket = window.events.begin_ticket();
    const auto first = std::ranges::lower_bound(marked.points, begin_ticket, {}, &MatchedPoint::ticket);
    if (first == marked.points.end() || first->ticket == marked.points.back().ticket) return;
    frame_ = {.from_ticket = first->ticket,
              .to_ticket = marked.points.back().ticket,
              .pair_count = static_cast<uint64_t>(marked.points.end() - first) - 1,
              .rows = {}};
    due_ = {last_event_to(window.events, frame_->from_ticket),
            last_event_to(window.events, frame_->to_ticket)};
    while (looks_.size() < due_.size() && due_[looks_.size()] == kNoTicket)
        look(begin);
}

void SiteGrowthWatch::look(const Ledger& ledger) {
    Sides& sides = looks_.emplace_back();
    ledger.for_each_block(device_, [&](const Block& block) {
        Side& side = sides[site_key(block.site, block.size_bytes)];
        side.bytes += block.size_bytes;
        if (std::tie(block.birth_ticket, block.address) < std::tie(side.oldest_ticket, side.oldest_address)) {
            side.oldest_ticket = block.birth_ticket;
            side.oldest_address = block.address;
        }
    });
}

std::optional<SiteGrowth> SiteGrowthWatch::growth() const {
    if (!frame_ || looks_.size() != 2) return std::nullopt;
    struct Candidate {
        SiteGrowthRow row;
        uint64_t difference_bytes = 0;
        bool shrinks = false;
        std::pair<uint64_t, uint64_t> oldest;  // birth ticket and address
    };
    std::vector<Candidate> differing;
    const auto add = [&](const SiteKey& key, const Side& from, const Side& to) {
        if (from.bytes == to.bytes) return;
        const bool shrinks = to.bytes < from.bytes;
        differing.push_back({{key, from.bytes, to.bytes},
                             shrinks ? from.bytes - to.bytes : to.bytes - from.bytes,
                             shrinks,
                             std::min(std::pair(from.oldest_ticket, from.oldest_address),
                                      std::pair(to.oldest_ticket, to.oldest_address))});
    };
    const auto& [from, to] = std::tie(looks_[0], looks_[1]);
    for (const auto& [key, side] : from) {
        const auto after = to.find(key);
        add(key, side, after == to.end() ? Side() : after->second);
    }
    for (const auto& [key, side] : to) {
        if (!from.contains(key)) add(key, Side(), side);
    }
    const auto greater = [](const Candidate& a, const Candidate& b) {
        return std::tie(b.difference_bytes, a.shrinks, a.oldest, a.row.key) <
               std::tie(a.difference_bytes, b.shrinks, b.oldest, b.row.key);
    };
    const size_t count = std::min(differing.size(), kListedSites_most);
    std::ranges::partial_sort(differing, differing.begin() + static_cast<ptrdiff_t>(count), greater);
    SiteGrowth growth = *frame_;
    for (size_t at = 0; at < count; ++at)
        growth.rows.push_back(differing[at].row);
    return growth;
}

}  // namespace memsnap
