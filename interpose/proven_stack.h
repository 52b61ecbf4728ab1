// SPDX-License-Identifier: Apache-2.0
//
// Where the stack of a thread can be read. The rules: a walk reads nothing else, since what looks like a
// frame may be anything where stacks are copied and switched; the kernel is asked once a page, and what it
// said holds as long as walks begin there.
#pragma once

#include <cstdint>

namespace memsnap::recorder {

// Of one thread; all zeros at first.
class ProvenStack {
  public:
    // What is being run on lies there.
    void begin_at(uint64_t address) {
        if (!covers(address) && !extend(address)) restart(address);
    }
    bool may_read(uint64_t address) { return covers(address) || extend(address); }

  private:
    bool covers(uint64_t address) const { return address - begin_ < end_ - begin_; }
    bool extend(uint64_t address);
    void restart(uint64_t address);

    uint64_t begin_, end_;  // of whole pages
};

}  // namespace memsnap::recorder
