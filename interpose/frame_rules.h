// SPDX-License-Identifier: Apache-2.0
//
// How to get from a frame to its caller's, as libunwind tells for its return address, kept for all threads.
// The rules: what a rule says holds for every frame with that return address (its caller's frame lies at a
// constant distance from one register, the saved frame pointer at a constant distance from that); everything
// else is left to libunwind; a rule of code that may have been replaced is learnt anew; nothing is read but
// what is proven to be readable, and where a step leads nowhere the stack ends.
#pragma once

#include <cstdint>

#include "operation.h"

namespace memsnap::recorder {

// The words of the stack on which the outcome of a walk depends, the innermost first. While they say the
// same, each leads to the next as it did; so comparing them in that order reads nothing that a walk would not
// read.
class WordsRead {
  public:
    void begin(uint32_t epoch) {
        epoch_ = epoch;
        count_ = 0;
    }
    void add(const uint64_t* at, uint64_t value) {
        if (count_ < kCapacity) words_[count_] = Word{at, value};
        ++count_;
    }
    bool is_whole() const { return count_ != 0 && count_ <= kCapacity; }

    // Of a whole one: whether a walk from there comes out the same.
    bool is_same(const uint64_t* frame, uint32_t epoch) const {
        if (epoch != epoch_ || words_[0].at != frame + 1) return false;
        for (uint32_t i = 0; i < count_; ++i) {
            if (*words_[i].at != words_[i].value) return false;
        }
        return true;
    }

  private:
    static constexpr uint32_t kCapacity = 160;
    struct Word {
        const uint64_t* at;
        uint64_t value;
    };

    uint32_t epoch_;
    uint32_t count_;
    Word words_[kCapacity];
};

// Side thread: before the first walk. False where this walk does not work: libunwind's own does.
bool prepare_frame_rules(void* library, void* (*symbol)(void* library, const char* name));

// Side thread, after that: what libunwind does once, it does here.
void warm_up_frame_rules();

struct Walked {
    int count;       // of addresses
    bool is_broken;  // there are more, and no way to them
};

// Walks from the frame that begins at `frame` (saved frame pointer, return address). `read` is whole when the
// walk can be recalled.
Walked walk_by_rules(ThreadState& state, const uint64_t* frame, void** addresses, int capacity,
                     WordsRead& read);

}  // namespace memsnap::recorder
