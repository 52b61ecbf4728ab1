// SPDX-License-Identifier: Apache-2.0
//
// What stands for the names of a recording: ordinals in the evidence, tokens beside it. The rule: ordinals
// count from 1 by first appearance, 0 is none; a token is keyed with the recording's random id.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis.h"
#include "capture.h"
#include "json.h"

namespace memsnap {

class Dictionary {
  public:
    explicit Dictionary(const Analysis& analysis);

    uint64_t site(const SiteKey& key) const;
    uint64_t phase(uint16_t folded_name) const;
    uint64_t library(uint16_t number) const;
    uint64_t dimension(uint64_t name) const;

    uint64_t site_count() const { return sites_.size(); }
    uint64_t phase_count() const { return phases_.size(); }
    uint64_t dimension_count() const { return dimensions_.size(); }

    Json::Object json(const std::array<uint8_t, 16>& ring_id) const;

  private:
    void take_scene(const Scene& scene);
    void take_libraries(const std::vector<ForeignBytes>& libraries);

    std::unordered_map<SiteKey, uint64_t, SiteKeyHash> sites_;
    std::unordered_map<uint64_t, uint64_t> phases_;
    std::unordered_map<uint64_t, uint64_t> libraries_;
    std::unordered_map<uint64_t, uint64_t> dimensions_;
};

}  // namespace memsnap
