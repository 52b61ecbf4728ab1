// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime as small as recorder tests can do with: addresses and a budget, no memory. Built once for
// each SONAME; FAKE_CUDART_VERSION tells the copies apart.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kMaxObjects = 65536
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t total_bytes = (size_t)1 << 30;
static size_t used_bytes;
static struct {
    uintptr_t address;
    size_t size;
} objects[kMaxObjects];
static unsigned long call_count;

static int take(void** out, size_t size) {
    int result = kOutOfMemory;
    pthread_mutex_lock(&lock);
    ++call_count;
    for (size_t i = 0; used_bytes + size <= total_bytes && i < kMaxObjects; ++i) {
        if (objects[i].address != 0) continue;
        objects[i].address = ((uintptr_t)FAKE_CUDART_VERSION << 44) + ((uintptr_t)(i + 1) << 24);
        objects[i].size = size;
        used_bytes += size;
        *out = (void*)objects[i].address;
        result = kSuccess;
        break;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int give(void* address) {
    if (address == NULL) return kSuccess;
    int result = kInvalidValue;
    pthread_mutex_lock(&lock);
    ++call_count;
    size_t i = (((uintptr_t)address & (((uintptr_t)1 << 44) - 1)) >> 24) - 1;
    if (i < kMaxObjects && objects[i].address == (uintptr_t)address) {
        objects[i].address = 0;
        used_bytes -= objects[i].size;
        result = kSuccess;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cudaMalloc(void** out, size_t size) {
    return take(out, size);
}
int cudaFree(void* address) {
    return give(address);
}
int cudaMallocAsync(void** out, size_t size, void* stream) {
    return stream == (void*)-1 ? kInvalidValue : take(out, size);
}
int cudaFreeAsync(void* address, void* stream) {
    return stream == (void*)-1 ? kInvalidValue : give(address);
}
// Called in the middle of a cudaMallocHost; may leave it by an exception.
static void (*interruption)(void);
void fake_interrupt_with(void (*function)(void)) {
    interruption = function;
}
int cudaMallocHost(void** out, size_t size) {
    if (interruption != NULL) interruption();
    return take(out, size);
}
int cudaFreeHost(void* address) {
    return give(address);
}
int cudaMallocManaged(void** out, size_t size, unsigned flags) {
    return flags == 0 ? kInvalidValue : take(out, size);
}
int cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return take(out, *pitch * height);
}
int cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    *free_bytes = total_bytes - used_bytes;
    *total = total_bytes;
    return kSuccess;
}
#if defined(FAKE_STUB)
// Only the library that others link with has this one; the one they run with does not.
int cudaHostRegister(void* address, size_t size, unsigned flags) {
    return address == NULL && size == flags;
}
#endif
int cudaGetDeviceCount(int* count) {
    *count = 1;
    return kSuccess;
}
int cudaDeviceReset(void) {
    return kSuccess;
}

void fake_set_total(size_t bytes) {
    total_bytes = bytes;
}
int fake_version(void) {
    return FAKE_CUDART_VERSION;
}
unsigned long fake_call_count(void) {
    return call_count;
}
