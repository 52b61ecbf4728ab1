// SPDX-License-Identifier: Apache-2.0
//
// Seeded choices. The rule: a seed gives the same choices on every machine, so only the engine of the
// standard is used, whose output is fixed, and none of its distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace memsnap::differential {

class Random {
  public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    // 0 to limit - 1.
    uint64_t below(uint64_t limit) { return limit == 0 ? 0 : engine_() % limit; }
    uint64_t between(uint64_t least, uint64_t greatest) { return least + below(greatest - least + 1); }
    bool one_in(uint64_t count) { return below(count) == 0; }
    template <class List>
    const auto& one_of(const List& list) {
        return list[static_cast<size_t>(below(std::size(list)))];
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace memsnap::differential
