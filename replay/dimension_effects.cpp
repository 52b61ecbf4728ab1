// SPDX-License-Identifier: Apache-2.0
//
// Intervals are counted once; a dimension is settled over all intervals of a value when that changes, so the
// cost does not grow with dimensions times intervals.
#include "dimension_effects.h"

#include <algorithm>
#include <utility>

namespace memsnap {

void DimensionWatch::pass_point() {
    const bool opens = passed_count_++ == 0;  // what was before the first point is no interval
    const auto peak_bytes = std::exchange(open_peak_bytes_, std::nullopt);
    if (opens || !peak_bytes) return;
    while (!highest_.empty() && highest_.back().peak_bytes < *peak_bytes)
        highest_.pop_back();
    highest_.push_back({peaks_bytes_.size(), *peak_bytes});
    peaks_bytes_.push_back(*peak_bytes);
}

void DimensionWatch::take_report(uint64_t allocated_bytes) {
    open_peak_bytes_ = std::max(open_peak_bytes_.value_or(0), allocated_bytes);
}

void DimensionWatch::take_note(const Event& note) {
    const auto [found, fresh] = index_.try_emplace(note.link, noted_.size());
    if (fresh) {
        noted_.push_back({});
        noted_.back().effect.dimension = note.link;
        noted_.back().from = peaks_bytes_.size();
    }
    Noted& noted = noted_[found->second];
    if (!fresh) settle(noted);
    noted.value = static_cast<int64_t>(note.size_bytes);
}

void DimensionWatch::settle(Noted& noted) {
    const uint64_t count = peaks_bytes_.size() - noted.from;
    if (count == 0) return;
    DimensionEffect& effect = noted.effect;
    if (noted.last_value && *noted.last_value != noted.value) {
        const uint64_t before = peaks_bytes_[noted.from - 1], after = peaks_bytes_[noted.from];
        ++effect.changed_count;
        const bool together = *noted.last_value < noted.value ? before < after : before > after;
        if (together) ++effect.together_count;
    }
    if (effect.interval_count == 0) effect.least_value = effect.greatest_value = noted.value;
    effect.least_value = std::min(effect.least_value, noted.value);
    effect.greatest_value = std::max(effect.greatest_value, noted.value);
    const auto highest = std::ranges::lower_bound(highest_, noted.from, {}, &Highest::interval);
    if (effect.interval_count == 0 || highest->peak_bytes > effect.peak_bytes) {
        effect.peak_bytes = highest->peak_bytes;
        effect.value_at_peak = noted.value;
    }
    effect.interval_count += count;
    noted.last_value = noted.value;
    noted.from = peaks_bytes_.size();
}

std::vector<DimensionEffect> DimensionWatch::effects() {
    while (passed_count_ < points_.size())
        pass_point();
    std::vector<DimensionEffect> effects;
    for (Noted& noted : noted_) {
        settle(noted);
        if (noted.effect.interval_count >= 2) effects.push_back(noted.effect);
    }
    return effects;
}

std::vector<uint64_t> step_tickets(const std::vector<Boundary>& boundaries, int device, BoundaryFamily family,
                                   uint64_t from_ticket, uint64_t until_ticket) {
    std::vector<uint64_t> tickets;
    if (family == BoundaryFamily::none) return tickets;
    for (const Boundary& boundary : boundaries) {
        const bool counts = boundary.family == family && boundary.device == device && outermost(boundary) &&
                            boundary.ticket >= from_ticket && boundary.ticket <= until_ticket;
        if (counts) tickets.push_back(boundary.ticket);
    }
    std::ranges::sort(tickets);
    const auto again = std::ranges::unique(tickets);
    tickets.erase(again.begin(), again.end());
    return tickets;
}

}  // namespace memsnap
