// SPDX-License-Identifier: Apache-2.0
//
// Pairs begins with ends and paints the stretches. Rule: a range begun later lies on top of an earlier one,
// in whatever order they close.
#include "ranges.h"

#include <algorithm>
#include <unordered_map>

namespace oracle {
namespace {

template <typename Pick>
std::map<u16, std::vector<Range>> by_thread(const std::vector<Range>& ranges, Pick pick) {
    std::map<u16, std::vector<Range>> threads;
    for (const auto& range : ranges) {
        if (pick(range)) threads[range.thread].push_back(range);
    }
    return threads;
}

}  // namespace

std::vector<Range> ranges_of(const Recording& recording) {
    std::vector<Range> ranges;
    std::unordered_map<u64, std::size_t> by_begin;
    for (const auto& event : recording.events) {
        if (event.kind == kPhaseBegin) {
            by_begin.emplace(event.ticket, ranges.size());
            ranges.push_back(
                {event.thread, event.code, static_cast<u16>(event.link & 0xFFFFU), event.ticket, kNoTicket});
        } else if (event.kind == kPhaseEnd) {
            auto found = by_begin.find(event.address);
            if (found == by_begin.end()) continue;
            auto& range = ranges[found->second];
            if (range.thread == event.thread) range.end = std::min(range.end, event.ticket);
        }
    }
    return ranges;
}

Cover::Cover(const std::vector<Range>& ranges) {
    std::map<u64, u64> bare{{0, kNoTicket}};  // tickets that no range begun later covers
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        auto at = std::prev(bare.upper_bound(range->begin));  // its begin is bare: all others begin later
        while (at != bare.end() && at->first < range->end) {
            auto [from, to] = *at;
            Stretch stretch{std::max(from, range->begin), std::min(to, range->end), range->folded_name};
            stretches_.push_back(stretch);
            at = bare.erase(at);
            if (from < stretch.from) bare.emplace(from, stretch.from);
            if (stretch.to < to) at = bare.emplace(stretch.to, to).first;
        }
    }
    std::sort(stretches_.begin(), stretches_.end(),
              [](const Stretch& a, const Stretch& b) { return a.from < b.from; });
}

const Stretch* Cover::at(u64 ticket) const {
    auto after = std::upper_bound(stretches_.begin(), stretches_.end(), ticket,
                                  [](u64 wanted, const Stretch& stretch) { return wanted < stretch.from; });
    if (after == stretches_.begin() || std::prev(after)->to <= ticket) return nullptr;
    return &*std::prev(after);
}

Labels::Labels(const std::vector<Range>& ranges) {
    for (const auto& [thread, own] : by_thread(ranges, [](const Range& range) { return range.labels(); })) {
        Cover cover(own);
        all_.insert(all_.end(), cover.stretches().begin(), cover.stretches().end());
        threads_.emplace(thread, Thread{own.front().begin, std::move(cover)});
    }
    tally();
}

void Labels::tally() {
    struct Change {
        u64 ticket;
        bool opens;
        u64 index;
    };
    std::vector<Change> changes;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        changes.push_back({all_[i].from, true, i});
        changes.push_back({all_[i].to, false, i});
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.ticket < b.ticket; });
    Tally sum{0, 0, 0};
    for (const auto& change : changes) {
        sum.ticket = change.ticket;
        // Unsigned: what is taken away was added before.
        sum.threads += change.opens ? u64{1} : ~u64{0};
        sum.index_sum += change.opens ? change.index : u64{0} - change.index;
        tallies_.push_back(sum);
    }
}

u16 Labels::of_birth(u16 thread, u64 ticket) const {
    auto own = threads_.find(thread);
    if (own != threads_.end() && own->second.first_begin <= ticket) {
        const auto* stretch = own->second.cover.at(ticket);
        return stretch != nullptr ? stretch->folded_name : u16{0};
    }
    auto after = std::upper_bound(tallies_.begin(), tallies_.end(), ticket,
                                  [](u64 wanted, const Tally& tally) { return wanted < tally.ticket; });
    if (after == tallies_.begin() || std::prev(after)->threads != 1) return 0;
    return all_[std::prev(after)->index_sum].folded_name;
}

Collections::Collections(const std::vector<Range>& ranges) {
    auto threads = by_thread(ranges, [](const Range& range) { return range.family == kFamilyCollection; });
    for (const auto& [thread, own] : threads)
        threads_.emplace(thread, Cover(own));
}

bool Collections::open_at(u16 thread, u64 ticket) const {
    auto found = threads_.find(thread);
    return found != threads_.end() && found->second.at(ticket) != nullptr;
}

}  // namespace oracle
