// SPDX-License-Identifier: Apache-2.0
//
// Every range is checked to end within the numbers before it is added.
#include "regions.h"

#include <iterator>

namespace memsnap::snapshot {

namespace {

// Entries of older releases do not tell the pool.
bool joins(const Region& a, const Region& b) {
    const bool same_pool = a.pool == b.pool || a.pool == kPoolUnknown || b.pool == kPoolUnknown;
    return a.expandable && b.expandable && a.stream == b.stream && same_pool;
}

uint16_t known_pool(const Region& a, const Region& b) {
    return a.pool == kPoolUnknown ? b.pool : a.pool;
}

}  // namespace

const Regions::Place* Regions::holding(uint64_t address, uint64_t size_bytes) const {
    const auto behind = regions_.upper_bound(address);
    if (behind == regions_.begin()) return nullptr;
    const Place& found = *std::prev(behind);
    const uint64_t offset_bytes = address - found.first;
    const bool inside =
        offset_bytes < found.second.size_bytes && size_bytes <= found.second.size_bytes - offset_bytes;
    return inside ? &found : nullptr;
}

const Regions::Place* Regions::at(uint64_t address) const {
    const auto found = regions_.find(address);
    return found == regions_.end() ? nullptr : &*found;
}

bool Regions::overlaps(uint64_t address, uint64_t size_bytes) const {
    const auto behind = regions_.lower_bound(address);
    if (behind != regions_.end() && behind->first - address < size_bytes) return true;
    if (behind == regions_.begin()) return false;
    const Place& before = *std::prev(behind);
    return address - before.first < before.second.size_bytes;
}

void Regions::put(uint64_t address, Region region) {
    sum_bytes_ += region.size_bytes;
    auto behind = regions_.lower_bound(address);
    if (behind != regions_.end() && behind->first == address + region.size_bytes &&
        joins(region, behind->second)) {
        region.size_bytes += behind->second.size_bytes;
        region.stack = behind->second.stack;
        region.pool = known_pool(region, behind->second);
        behind = regions_.erase(behind);
    }
    if (behind != regions_.begin()) {
        Place& before = *std::prev(behind);
        if (before.first + before.second.size_bytes == address && joins(before.second, region)) {
            before.second.size_bytes += region.size_bytes;
            before.second.pool = known_pool(before.second, region);
            return;
        }
    }
    regions_.emplace_hint(behind, address, region);
}

void Regions::cut(uint64_t address, uint64_t size_bytes) {
    const Place* const whole = holding(address, size_bytes);
    if (whole == nullptr) return;
    sum_bytes_ -= size_bytes;
    const uint64_t begin = whole->first;
    Region rest = whole->second;
    const uint64_t end = begin + rest.size_bytes;
    regions_.erase(begin);
    if (begin < address) {
        rest.size_bytes = address - begin;
        regions_.emplace(begin, rest);
    }
    if (address + size_bytes < end) {
        rest.size_bytes = end - address - size_bytes;
        regions_.emplace(address + size_bytes, rest);
    }
}

}  // namespace memsnap::snapshot
