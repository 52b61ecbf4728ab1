// SPDX-License-Identifier: Apache-2.0
//
// Numbers in place of what may not be told. The rule: what the receipt's dictionary has keeps its number
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace memsnap {

// Numbers things by first appearance, after those that have a number already.
template <class Key, class Hash = std::hash<Key>>
class Numbering {
  public:
    explicit Numbering(uint64_t known_count) : last_(known_count) {}

    uint64_t of(const Key& key, uint64_t known_ordinal) {
        if (known_ordinal != 0) return known_ordinal;
        const auto [found, fresh] = ordinals_.try_emplace(key, last_ + 1);
        if (fresh) ++last_;
        return found->second;
    }
    uint64_t find(const Key& key) const {
        const auto found = ordinals_.find(key);
        return found == ordinals_.end() ? 0 : found->second;
    }
    // Appends those without a known number, by their own. What is there already is numbered before them.
    void list_into(std::vector<Key>& list) const {
        list.resize(last_);
        for (const auto& [key, ordinal] : ordinals_)
            list[ordinal - 1] = key;
    }

  private:
    std::unordered_map<Key, uint64_t, Hash> ordinals_;
    uint64_t last_ = 0;
};

}  // namespace memsnap
