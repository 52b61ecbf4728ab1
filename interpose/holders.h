// SPDX-License-Identifier: Apache-2.0
//
// The processes that hold memory of a device, gathered from several lists. The rule: a process counts once,
// and a number that no list tells is not told here either.
#pragma once

#include <cstdint>

namespace memsnap::recorder {

struct Holder {
    uint32_t pid = 0;
    bool told = false;  // whether anybody says how much
    uint64_t bytes = 0;
};

class Holders {
  public:
    static constexpr uint32_t kCapacity = 1024;
    static constexpr uint64_t kNotTold = ~uint64_t{0};  // NVML's own word for it

    void clear() {
        count_ = 0;
        complete_ = true;
    }
    void add(uint32_t pid, uint64_t bytes);

    const Holder* begin() const { return holders_; }
    const Holder* end() const { return holders_ + count_; }
    uint32_t count() const { return count_; }
    bool complete() const { return complete_; }  // false: there were more than there is room for

  private:
    Holder holders_[kCapacity];
    uint32_t count_ = 0;
    bool complete_ = true;
};

}  // namespace memsnap::recorder
