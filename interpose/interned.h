// SPDX-License-Identifier: Apache-2.0
//
// What is known of stacks already: what the sidecar tells of them, which tokens, and which code objects under
// which ids; and what threads remember of their own. The rules:
// no lock; a place is claimed by compare and swap before the entry is written, so that it is written once; a
// table that is full is no failure, only something that is not told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recalled_sites.h"

namespace memsnap::recorder {

// A set of words other than 0 in zeroed memory that somebody else owns.
class WordSet {
  public:
    static constexpr uint32_t kProbes = 128;
    enum class Found : uint8_t {
        known,
        added,
        full
    };

    // `place_count` is a power of two.
    void open(void* memory, uint64_t place_count) {
        places_ = static_cast<std::atomic<uint64_t>*>(memory);
        mask_ = place_count - 1;
    }

    bool contains(uint64_t word) const {
        for (uint32_t i = 0; i < kProbes; ++i) {
            uint64_t found = places_[(word + i) & mask_].load(std::memory_order_relaxed);
            if (found == word) return true;
            if (found == 0) return false;
        }
        return false;
    }

    // `place` is where the word is, unless the set is full.
    Found add(uint64_t word, uint64_t& place) {
        for (uint32_t i = 0; i < kProbes; ++i) {
            place = (word + i) & mask_;
            uint64_t found = 0;
            if (places_[place].compare_exchange_strong(found, word, std::memory_order_relaxed))
                return Found::added;
            if (found == word) return Found::known;
        }
        return Found::full;
    }

  private:
    std::atomic<uint64_t>* places_ = nullptr;
    uint64_t mask_ = 0;
};

// Room in which the texts of a code object are put together, for few threads at once.
struct Scratch {
    static constexpr size_t kCapacity_bytes = 65535;
    std::atomic<uint32_t> busy;
    unsigned char bytes[kCapacity_bytes];
};

// Of one recording; pages come when they are touched.
struct Interned {
    static constexpr uint32_t kScratchCount = 4;
    static constexpr uint64_t kCodePlaces = 65536;
    static constexpr uint32_t kRecallingThreads = 64;

    WordSet stacks;  // by token
    WordSet codes;   // by hash of address and generation; the id is 1 + the place
    Scratch scratch[kScratchCount];
    std::atomic<uint32_t> recalling_count;  // threads that asked for room to remember sites
    RecalledSites recalled[kRecallingThreads];
};

// As many stacks as the sidecar could hold, if they are no shorter than a few frames.
uint64_t stack_places(uint64_t names_bytes);
// Of the memory in which an Interned and its sets lie.
uint64_t interned_bytes(uint64_t names_bytes);
Interned* open_interned(void* memory, uint64_t names_bytes);

}  // namespace memsnap::recorder
