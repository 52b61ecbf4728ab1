// SPDX-License-Identifier: Apache-2.0
//
// A lock that is tried a bounded number of times. The rules: holders move words in memory and nothing else;
// giving up after a while keeps a stopped thread from stopping others, and what is lost then is a copy, never
// a record.
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu.h"

namespace memsnap::recorder {

class TryLock {
  public:
    explicit TryLock(std::atomic<uint32_t>& lock) : lock_(lock) {
        constexpr int kTries = 1000;
        for (int i = 0; i < kTries && !held_; ++i) {
            held_ = lock_.exchange(1, std::memory_order_acquire) == 0;
            if (!held_) pause_processor();
        }
    }
    ~TryLock() { release(); }
    TryLock(const TryLock&) = delete;
    TryLock& operator=(const TryLock&) = delete;
    bool held() const { return held_; }
    void release() {
        if (held_) lock_.store(0, std::memory_order_release);
        held_ = false;
    }

  private:
    std::atomic<uint32_t>& lock_;
    bool held_ = false;
};

}  // namespace memsnap::recorder
