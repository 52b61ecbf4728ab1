// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's allocator library as the recorder sees it: it reports blocks to libc10 and takes segments from
// the CUDA runtime. It decides nothing; tests say what happens.
#include <stddef.h>
#include <stdint.h>

struct Device {
    int8_t type, index;
};
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void*, int64_t, size_t, size_t, struct Device);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t, size_t, size_t, struct Device);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemGetInfo(size_t*, size_t*);

void fake_report(void* address, int64_t size, size_t allocated, size_t reserved, int device) {
    struct Device where = {1, (int8_t)device};
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(address, size, allocated, reserved, where);
    __asm__ volatile("");  // a call, not a jump: the return address must lie in this library
}
void fake_report_cpu(void* address, int64_t size) {
    struct Device where = {0, -1};
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(address, size, 0, 0, where);
    __asm__ volatile("");
}
void fake_report_out_of_memory(int64_t size, size_t allocated, size_t reserved, int device) {
    struct Device where = {1, (int8_t)device};
    _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(size, allocated, reserved, where);
    __asm__ volatile("");
}
int fake_segment_alloc(void** out, size_t size) {
    int result = cudaMalloc(out, size);
    __asm__ volatile("");
    return result;
}
int fake_segment_free(void* address) {
    int result = cudaFree(address);
    __asm__ volatile("");
    return result;
}
int fake_mem_get_info(size_t* free_bytes, size_t* total_bytes) {
    int result = cudaMemGetInfo(free_bytes, total_bytes);
    __asm__ volatile("");
    return result;
}
