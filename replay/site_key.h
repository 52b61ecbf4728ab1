// SPDX-License-Identifier: Apache-2.0
//
// What tells birth sites apart: a stack token, or where a block has none, its granted size.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace memsnap {

struct SiteKey {
    uint64_t site = 0;
    uint64_t granted_bytes = 0;  // 0 with a site
    bool operator==(const SiteKey&) const = default;
    auto operator<=>(const SiteKey&) const = default;
};
struct SiteKeyHash {
    size_t operator()(const SiteKey& key) const {
        return key.site * 0x9E3779B97F4A7C15ULL ^ key.granted_bytes;
    }
};
inline SiteKey site_key(uint64_t site, uint64_t granted_bytes) {
    return {site, site == 0 ? granted_bytes : 0};
}

// Of lists that may be long.
inline constexpr size_t kListedSites_most = 64;

}  // namespace memsnap
