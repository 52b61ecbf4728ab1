// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's libc10 as its allocator library sees it: the two report functions, here counting their calls.
#include <stddef.h>
#include <stdint.h>

struct Device {
    int8_t type, index;
};

static unsigned long usage_count, out_of_memory_count;
static int64_t last_size;

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void* address, int64_t size, size_t allocated,
                                                           size_t reserved, struct Device device) {
    (void)address, (void)allocated, (void)reserved, (void)device;
    __atomic_add_fetch(&usage_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&last_size, size, __ATOMIC_RELAXED);
}

void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t size, size_t allocated, size_t reserved,
                                                         struct Device device) {
    (void)size, (void)allocated, (void)reserved, (void)device;
    __atomic_add_fetch(&out_of_memory_count, 1, __ATOMIC_RELAXED);
}

unsigned long fake_usage_count(void) {
    return __atomic_load_n(&usage_count, __ATOMIC_RELAXED);
}
unsigned long fake_out_of_memory_count(void) {
    return __atomic_load_n(&out_of_memory_count, __ATOMIC_RELAXED);
}
int64_t fake_last_size(void) {
    return __atomic_load_n(&last_size, __ATOMIC_RELAXED);
}
