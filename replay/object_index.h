// SPDX-License-Identifier: Apache-2.0
//
// Which loaded object a place in memory lies in, among many that overlap. The rule: of those that cover it,
// up to the generation asked for, the last one written; the search is short whatever the objects are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memsnap {

class ObjectIndex {
  public:
    struct Range {
        uint64_t begin = 0, end = 0;
        int64_t generation = 0;
    };

    ObjectIndex() = default;
    explicit ObjectIndex(std::span<const Range> objects);  // in the order of writing

    // Its place in that order.
    std::optional<size_t> last_at(uint64_t address, int64_t generation) const;

  private:
    struct Candidate {
        int64_t generation = 0;
        uint32_t object = 0;
    };
    using Candidates = std::vector<Candidate>;  // later ones have higher generations

    void add(Candidates& candidates, const Candidate& candidate);

    // A segment tree: leaf n stands for the addresses from bound n to the next one, a node for those of its
    // leaves; an object is a candidate of the fewest nodes that it is made of.
    std::vector<uint64_t> bounds_;
    std::vector<Candidates> nodes_;
};

}  // namespace memsnap
