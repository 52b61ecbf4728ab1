// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver as small as recorder tests can do with: the resolvers, the start, the current device and
// virtual memory management, with handles and ranges but no memory.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return initialized ? kSuccess : kNotInitialized;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    for (int i = 0; i < 15; ++i) {
        uuid[i] = (unsigned char)i;
    }
    uuid[15] = (unsigned char)(255 - device);
    return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int length, int device) {
    snprintf(text, (size_t)length, "0000:%02X:00.0", device + 7);
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
int cuMemGetAddressRange_v2(uint64_t* base, size_t* size, uint64_t address) {
    *base = address;
    *size = 0;
    return kSuccess;
}

// A name that no driver has yet.
int cuMemReserveFuture(uint64_t* address, size_t size) {
    *address = size;
    return kSuccess;
}

void fake_refuse_unmap(int refuse) {
    refuse_unmap = refuse;
}

// Contexts: a primary one, and one that the program makes.
static char primary_context, own_context;
static void* current_context = &primary_context;
static int refuse_destroy;

int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = &primary_context;
    return device == 0 ? kSuccess : kInvalidValue;
}
int cuDevicePrimaryCtxReset_v2(int device) {
    return device == 0 ? kSuccess : kInvalidValue;
}
int cuCtxCreate_v2(void** context, unsigned flags, int device) {
    *context = current_context = &own_context;
    return flags == 0 && device == 0 ? kSuccess : kInvalidValue;
}
int cuCtxDestroy_v2(void* context) {
    if (refuse_destroy || context != &own_context) return kInvalidValue;
    current_context = &primary_context;
    return kSuccess;
}
int cuCtxGetCurrent(void** context) {
    *context = current_context;
    return kSuccess;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
    static uint64_t next = (uint64_t)1 << 40;
    *address = next;
    next += size;
    return kSuccess;
}
void fake_refuse_destroy(int refuse) {
    refuse_destroy = refuse;
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
    {"cuMemReserveFuture", 13000, (Function)cuMemReserveFuture},
    {"cuMemGetInfo", 3020, (Function)cuMemGetInfo_v2},
    {"cuMemGetAddressRange", 3020, (Function)cuMemGetAddressRange_v2},
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
