// SPDX-License-Identifier: Apache-2.0
//
// The block report of PyTorch's libc10 as a C program sees it: the name as g++ mangles it, the device in a
// register.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct Device {
    int8_t type;  // 1: CUDA
    int8_t index;
};

#define report_usage _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE

void report_usage(void* address, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
                  struct Device device);
