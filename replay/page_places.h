// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a window, moved to the page's own. The rule: what lay together lies together, at the same
// distances; nothing of where it lay is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure.h"
#include "window.h"

namespace memsnap {

class PagePlaces {
  public:
    // Of everything that blocks and regions of the window ever lie in.
    explicit PagePlaces(const Window& window);

    // Nothing for an address in none of these ranges.
    std::optional<Wide> of(uint64_t address) const;

  private:
    struct Range {
        uint64_t begin = 0;
        uint64_t last = 0;  // address in it
        Wide place = 0;
    };

    void add(uint64_t address, uint64_t size_bytes);
    void join();

    std::vector<Range> ranges_;
    size_t join_at_count_ = 0;
};

}  // namespace memsnap
