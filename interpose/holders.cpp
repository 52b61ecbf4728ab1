// SPDX-License-Identifier: Apache-2.0
#include "holders.h"

namespace memsnap::recorder {

// A process that computes and draws stands in both lists, with all its bytes in each.
void Holders::add(uint32_t pid, uint64_t bytes) {
    uint32_t i = 0;
    while (i < count_ && holders_[i].pid != pid) {
        ++i;
    }
    if (i == kCapacity) {
        complete_ = false;
        return;
    }
    if (i == count_) holders_[count_++] = Holder{pid, false, 0};
    if (bytes == kNotTold) return;
    holders_[i].told = true;
    if (bytes > holders_[i].bytes) holders_[i].bytes = bytes;
}

}  // namespace memsnap::recorder
