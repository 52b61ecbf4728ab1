// SPDX-License-Identifier: Apache-2.0
//
// Stands for libc10.so: no profiler is active, so a report does nothing.
#include "c10.h"

void report_usage(void* address, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
                  struct Device device) {
    (void)address, (void)size_bytes, (void)allocated_bytes, (void)reserved_bytes, (void)device;
}
