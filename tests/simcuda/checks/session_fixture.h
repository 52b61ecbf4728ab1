// SPDX-License-Identifier: Apache-2.0
// One session for the whole test program: two cards of 1 GiB, a context costs 64 MiB.
// Rule: a test begins and ends with both cards empty; FreshDevices says so when one leaves something behind.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "catch.h"
#include "simcuda.h"

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kTotalBytes = 1024 * kMiB;
inline constexpr uint64_t kContextBytes = 64 * kMiB;
inline constexpr uint64_t kFreeWithContextBytes = kTotalBytes - kContextBytes;

uint64_t free_bytes(int device);  // as NVML says: needs no context and makes none

class FreshDevices {
  public:
    FreshDevices();
    ~FreshDevices();
    FreshDevices(const FreshDevices&) = delete;
    FreshDevices& operator=(const FreshDevices&) = delete;
};

// cudaMalloc that must work.
void* allocate(uint64_t bytes);
