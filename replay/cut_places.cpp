// SPDX-License-Identifier: Apache-2.0
//
// Places by address. The encoder gives addresses in the order of lines, so whatever comes out of that order
// gets its range reserved in it.
#include "cut_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace memsnap {

void CutPlaces::add(const CutRange& range) {
    ranges_.push_back(range);
    uint64_t& end = ends_[range.begin];
    end = std::max(end, range.end);
}

bool CutPlaces::knows(uint64_t address) const {
    const auto after = ends_.upper_bound(address);
    return after != ends_.begin() && address < std::prev(after)->second;
}

void CutPlaces::settle() {
    std::ranges::stable_sort(ranges_, {}, &CutRange::begin);
    bool joined_last = false;
    for (const CutRange& range : ranges_) {
        const bool overlaps = !places_.empty() && range.begin < places_.back().end;
        const bool touches = !places_.empty() && range.begin == places_.back().end;
        if (overlaps || (touches && range.joins && joined_last)) {
            CutPlace& place = places_.back();
            place.end = std::max(place.end, range.end);
            place.reserved = true;
            place.alone = false;
            place.segment |= range.segment;
        } else {
            const bool alone = range.segment && !range.joins;
            places_.push_back({.name = {},
                               .begin = range.begin,
                               .end = range.end,
                               .reserved = !alone || !range.stated,
                               .segment = range.segment,
                               .alone = alone,
                               .stated = range.stated,
                               .birth_ticket = range.birth_ticket});
        }
        joined_last = range.joins;
    }
    name_last();
    uint64_t number = 0;
    for (CutPlace& place : places_)
        place.name = fmt::format("{}{}", place.reserved ? 'a' : 's', ++number);
}

// Segments that come after all others and in the order of their births get their addresses in that order
// anyway.
void CutPlaces::name_last() {
    uint64_t born_later = ~uint64_t{0};
    for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
        if (!place->alone || place->stated || place->birth_ticket > born_later) return;
        born_later = place->birth_ticket;
        place->reserved = false;
    }
}

CutPlace* CutPlaces::at(uint64_t address) {
    const auto after = std::ranges::upper_bound(places_, address, {}, &CutPlace::begin);
    if (after == places_.begin()) return nullptr;
    CutPlace& place = *(after - 1);
    return address < place.end ? &place : nullptr;
}

std::string CutPlaces::where(uint64_t address) {
    const CutPlace* const place = at(address);
    return place == nullptr ? "0" : place->name + "+" + exact_size(address - place->begin);
}

std::string exact_size(uint64_t bytes) {
    constexpr std::pair<uint64_t, const char*> kSuffixes[] = {
        {uint64_t{1} << 30, "GiB"}, {uint64_t{1} << 20, "MiB"}, {uint64_t{1} << 10, "KiB"}};
    for (const auto& [unit, suffix] : kSuffixes) {
        if (bytes != 0 && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, suffix);
    }
    return fmt::format("{}", bytes);
}

}  // namespace memsnap
