// SPDX-License-Identifier: Apache-2.0
//
// Begins and ends. A range that ends while inner ones are open stays in its stack until those have ended, so
// that a million ranges ended from the outside cost a million steps.
#include "ranges.h"

#include <algorithm>

namespace memsnap {
namespace {

bool labels_births(RangeFamily family) {
    return family == RangeFamily::none || family == RangeFamily::optimizer || family == RangeFamily::range;
}

}  // namespace

bool RangeStack::end(uint64_t ticket) {
    const auto found = std::ranges::lower_bound(ranges_, ticket, {}, &Range::ticket);
    if (found == ranges_.end() || found->ticket != ticket || !found->open) return false;
    found->open = false;
    while (!ranges_.empty() && !ranges_.back().open)
        ranges_.pop_back();
    return true;
}

void Ranges::begin(const Event& event) {
    const auto name = static_cast<uint16_t>(event.folded_name());
    if (event.family() == RangeFamily::collection) {
        threads_[event.thread].collections.begin(event.ticket, name);
    } else if (labels_births(event.family())) {
        Thread& thread = threads_[event.thread];
        thread.labels.begin(event.ticket, name);
        thread.has_label = true;
        labelling_threads_.insert(event.thread);
    } else {
        return;
    }
    ++begun_count_;
}

bool Ranges::end(const Event& event) {
    const auto found = threads_.find(event.thread);
    if (found == threads_.end()) return false;
    Thread& thread = found->second;
    if (thread.labels.end(event.address)) {
        if (thread.labels.empty()) labelling_threads_.erase(event.thread);
        return false;
    }
    return thread.collections.end(event.address);
}

uint16_t Ranges::phase_on(uint16_t thread) const {
    if (labelling_threads_.empty()) return 0;
    const auto own = threads_.find(thread);
    if (own != threads_.end() && own->second.has_label)
        return own->second.labels.empty() ? uint16_t{0} : own->second.labels.innermost_name();
    if (labelling_threads_.size() != 1) return 0;
    return threads_.at(*labelling_threads_.begin()).labels.innermost_name();
}

bool Ranges::in_collection(uint16_t thread) const {
    if (threads_.empty()) return false;
    const auto found = threads_.find(thread);
    return found != threads_.end() && !found->second.collections.empty();
}

}  // namespace memsnap
