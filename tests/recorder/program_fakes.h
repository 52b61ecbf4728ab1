// SPDX-License-Identifier: Apache-2.0
//
// What recorded test programs call: the fakes' interfaces, and what PyTorch's allocator does with them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int cudaMalloc(void** out, size_t size);
int cudaFree(void* address);
int cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height);
int cudaMallocAsync(void** out, size_t size, void* stream);
int cudaFreeAsync(void* address, void* stream);
int cudaMallocHost(void** out, size_t size);
int cudaFreeHost(void* address);
int cudaMallocManaged(void** out, size_t size, unsigned flags);
int cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
int cudaDeviceReset();

void fake_report(void* address, int64_t size, size_t allocated, size_t reserved, int device);
void fake_report_cpu(void* address, int64_t size);
void fake_report_out_of_memory(int64_t size, size_t allocated, size_t reserved, int device);
int fake_segment_alloc(void** out, size_t size);
int fake_segment_free(void* address);
int fake_mem_get_info(size_t* free_bytes, size_t* total_bytes);
void fake_interrupt_with(void (*function)());
unsigned long fake_usage_count();
unsigned long fake_out_of_memory_count();
}

// A segment that is refused, and the look at what is free that follows.
inline void fake_segment_refused(size_t size) {
    void* segment = nullptr;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    fake_segment_alloc(&segment, size);
    fake_mem_get_info(&free_bytes, &total_bytes);
}
