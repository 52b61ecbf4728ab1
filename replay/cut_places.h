// SPDX-License-Identifier: Apache-2.0
//
// Names instead of addresses. The rule: ranges that overlap, and mappings that touch, are one place, in which
// distances stay what they were; places keep their order, and nothing else of an address is told.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memsnap {

// What of the text lies in a place.
struct CutRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool joins = false;   // a mapping: one with those that touch it
    bool stated = false;  // live when the cut begins, so that its line comes before all events
    bool segment = false;
    uint64_t birth_ticket = 0;
};

struct CutPlace {
    std::string name;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool reserved = false;  // an address range of its own; else the one object in it gives the name
    bool segment = false;
    bool alone = false;  // a native segment
    bool stated = false;
    uint64_t birth_ticket = 0;
    uint64_t block_count = 0;  // live at the moment
    uint64_t most_blocks_count = 0;
};

class CutPlaces {
  public:
    void add(const CutRange& range);
    bool knows(uint64_t address) const;  // in a range that was added
    void settle();

    std::vector<CutPlace>& all() { return places_; }
    CutPlace* at(uint64_t address);  // nullptr: nowhere
    // `place+distance` of an address in a place.
    std::string where(uint64_t address);

  private:
    void name_last();

    std::vector<CutRange> ranges_;
    std::map<uint64_t, uint64_t> ends_;  // by begin
    std::vector<CutPlace> places_;       // by address
};

// Bytes with the largest binary suffix that is exact.
std::string exact_size(uint64_t bytes);

}  // namespace memsnap
