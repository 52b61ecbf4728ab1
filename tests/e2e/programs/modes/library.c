// SPDX-License-Identifier: Apache-2.0
//
// Another library of the process, which takes device memory in its own ways: as PyTorch's pluggable
// allocator, with the runtime, with the driver. Rule: PyTorch's allocator library never makes these calls.
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

int cudaMalloc(void** address, size_t size_bytes);
int cudaFree(void* address);

// CUmemAllocationProp, in memory of one device.
struct Place {
    int type;
    int exported_as;
    int location_type;
    int location;
    void* attributes;
    unsigned char flags[8];
};

void* library_take(ssize_t size_bytes, int device, void* stream) {
    (void)device;
    (void)stream;
    void* address = NULL;
    return cudaMalloc(&address, (size_t)size_bytes) == 0 ? address : NULL;
}

void library_give(void* address, ssize_t size_bytes, int device, void* stream) {
    (void)size_bytes;
    (void)device;
    (void)stream;
    cudaFree(address);
}

int library_cudaMalloc(size_t size_bytes) {
    void* address = NULL;
    return cudaMalloc(&address, size_bytes);
}

static void* driver_function(const char* name) {
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), name);
}

int library_cuMemAlloc(size_t size_bytes) {
    int (*function)(unsigned long long*, size_t) = driver_function("cuMemAlloc_v2");
    unsigned long long address = 0;
    return function(&address, size_bytes);
}

int library_cuMemCreate(size_t size_bytes) {
    int (*function)(unsigned long long*, size_t, const struct Place*, unsigned long long) =
        driver_function("cuMemCreate");
    const struct Place place = {.type = 1, .location_type = 1, .location = 0};
    unsigned long long handle = 0;
    return function(&handle, size_bytes, &place, 0);
}
