// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver as small as recorder tests can do with: the resolvers, the start, the current device and
// virtual memory management, with handles and ranges but no memory.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNotFound = 500
};

static int initialized;
static uint64_t next_handle = 1;
static size_t total_bytes = (size_t)1 << 30;
static size_t used_bytes;
static int refuse_unmap;

int cuInit(unsigned flags) {
    initialized = flags == 0;
    return initialized ? kSuccess : kInvalidValue;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return kSuccess;
}
int cuCtxGetDevice(int* device) {
    if (!initialized) return kNotInitialized;
    *device = 0;
    return kSuccess;
}

int cuMemCreate(uint64_t* handle, size_t size, const void* properties, unsigned long long flags) {
    if (properties == NULL || flags != 0) return kInvalidValue;
    if (used_bytes + size > total_bytes) return kOutOfMemory;
    used_bytes += size;
    *handle = next_handle++;
    return kSuccess;
}
int cuMemMap(uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags) {
    return address == 0 || size == 0 || offset != 0 || handle == 0 || flags != 0 ? kInvalidValue : kSuccess;
}
int cuMemUnmap(uint64_t address, size_t size) {
    return refuse_unmap || address == 0 || size == 0 ? kInvalidValue : kSuccess;
}
int cuMemRelease(uint64_t handle) {
    return handle == 0 || handle >= next_handle ? kInvalidValue : kSuccess;
}
int cuMemRetainAllocationHandle(uint64_t* handle, void* address) {
    *handle = 1;
    return address == NULL ? kInvalidValue : kSuccess;
}
int cuMemImportFromShareableHandle(uint64_t* handle, void* shared, int type) {
    *handle = next_handle++;
    return shared == NULL && type != 0 ? kInvalidValue : kSuccess;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
    *free_bytes = total_bytes - used_bytes;
    *total = total_bytes;
    return kSuccess;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
    *address = size;
    return kSuccess;
}

void fake_refuse_unmap(int refuse) {
    refuse_unmap = refuse;
}

int cuGetProcAddress_v2(const char* symbol, void** found, int version, uint64_t flags, void* status);
int cuGetProcAddress(const char* symbol, void** found, int version, uint64_t flags);

typedef void (*Function)(void);
static const struct {
    const char* base;
    int version;
    Function function;
} kNames[] = {
    {"cuGetProcAddress", 12000, (Function)cuGetProcAddress_v2},
    {"cuGetProcAddress", 11030, (Function)cuGetProcAddress},
    {"cuInit", 2000, (Function)cuInit},
    {"cuDriverGetVersion", 2020, (Function)cuDriverGetVersion},
    {"cuCtxGetDevice", 2000, (Function)cuCtxGetDevice},
    {"cuMemCreate", 10020, (Function)cuMemCreate},
    {"cuMemMap", 10020, (Function)cuMemMap},
    {"cuMemUnmap", 10020, (Function)cuMemUnmap},
    {"cuMemRelease", 10020, (Function)cuMemRelease},
    {"cuMemRetainAllocationHandle", 11000, (Function)cuMemRetainAllocationHandle},
    {"cuMemImportFromShareableHandle", 10020, (Function)cuMemImportFromShareableHandle},
    {"cuMemGetInfo", 3020, (Function)cuMemGetInfo_v2},
    {"cuMemAlloc", 3020, (Function)cuMemAlloc_v2},
};

static void* resolve(const char* symbol, int version) {
    void* found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof kNames / sizeof kNames[0]; ++i) {
        if (strcmp(symbol, kNames[i].base) != 0 || version < kNames[i].version) continue;
        memcpy(&found, &kNames[i].function, sizeof found);
    }
    return found;
}

int cuGetProcAddress_v2(const char* symbol, void** found, int version, uint64_t flags, void* status) {
    *found = flags > 2 ? NULL : resolve(symbol, version);
    if (status != NULL) *(int*)status = *found == NULL ? 1 : 0;
    return *found == NULL ? kNotFound : kSuccess;
}
int cuGetProcAddress(const char* symbol, void** found, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, found, version, flags, NULL);
}
