// SPDX-License-Identifier: Apache-2.0
//
// Ordinals and tokens of the dictionary (docs/receipt.md). Rule: ordinals count from 1 in the order of first
// appearance; a token is a keyed hash of the local id, so two rings share none.
#pragma once

#include <map>
#include <vector>

#include "file.h"
#include "json.h"

namespace oracle {

template <typename Key>
class Ordinals {
  public:
    u64 of(const Key& key) {
        auto [at, added] = ordinals_.try_emplace(key, keys_.size() + 1);
        if (added) keys_.push_back(key);
        return at->second;
    }
    const std::vector<Key>& keys() const { return keys_; }

  private:
    std::map<Key, u64> ordinals_;
    std::vector<Key> keys_;
};

std::string token(const Header& header, std::string_view kind, u64 local_id);

}  // namespace oracle
