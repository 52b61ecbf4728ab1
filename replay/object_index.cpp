// SPDX-License-Identifier: Apache-2.0
//
// The tree, from its leaves upwards: the parent of node n is n / 2, the root is 1.
#include "object_index.h"

#include <algorithm>

namespace memsnap {

ObjectIndex::ObjectIndex(std::span<const Range> objects) {
    for (const Range& object : objects) {
        bounds_.push_back(object.begin);
        bounds_.push_back(object.end);
    }
    std::ranges::sort(bounds_);
    bounds_.erase(std::ranges::unique(bounds_).begin(), bounds_.end());
    nodes_.resize(2 * bounds_.size());
    const auto leaf_at = [&](uint64_t bound) {
        return bounds_.size() +
               static_cast<size_t>(std::ranges::lower_bound(bounds_, bound) - bounds_.begin());
    };
    for (uint32_t object = 0; object < objects.size(); ++object) {
        const Range& range = objects[object];
        const Candidate candidate = {range.generation, object};
        size_t begin = leaf_at(range.begin);
        size_t end = leaf_at(range.end);
        for (; begin < end; begin /= 2, end /= 2) {
            if (begin % 2 == 1) add(nodes_[begin++], candidate);
            if (end % 2 == 1) add(nodes_[--end], candidate);
        }
    }
}

// Whoever could take an earlier one of no lower generation takes the later one.
void ObjectIndex::add(Candidates& candidates, const Candidate& candidate) {
    while (!candidates.empty() && candidates.back().generation >= candidate.generation)
        candidates.pop_back();
    candidates.push_back(candidate);
}

std::optional<size_t> ObjectIndex::last_at(uint64_t address, int64_t generation) const {
    const auto above = std::ranges::upper_bound(bounds_, address);
    if (above == bounds_.begin()) return std::nullopt;
    std::optional<size_t> last;
    const auto leaf = static_cast<size_t>(above - bounds_.begin()) - 1;
    for (size_t node = bounds_.size() + leaf; node > 0; node /= 2) {
        const Candidates& candidates = nodes_[node];
        const auto later = std::ranges::upper_bound(candidates, generation, {}, &Candidate::generation);
        if (later == candidates.begin()) continue;
        const size_t object = std::prev(later)->object;
        last = std::max(last.value_or(object), object);
    }
    return last;
}

}  // namespace memsnap
