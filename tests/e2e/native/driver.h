// SPDX-License-Identifier: Apache-2.0
//
// How the programs of the driver's semantics call it: DRIVER(name) is the entry point of exactly that
// exported name, found as a library finds it that links with nothing. Their rule: each line of memory says
// what it does to the card.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t kMebibyte = (size_t)1 << 20;

static inline void* driver_function(const char* name) {
    static void* driver;
    if (driver == NULL) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* found = driver == NULL ? NULL : dlsym(driver, name);
    if (found == NULL) {
        fprintf(stderr, "%s is not there\n", name);
        exit(1);
    }
    return found;
}
#define DRIVER(name) ((__typeof__(&name))driver_function(#name))

// The call must end with this result.
#define EXPECT(result, call) expect((result), (call), #call, __LINE__)
#define OK(call) EXPECT(CUDA_SUCCESS, call)
static inline void expect(CUresult wanted, CUresult result, const char* call, int line) {
    if (result == wanted) return;
    fprintf(stderr, "line %d: %s is %d, not %d\n", line, call, (int)result, (int)wanted);
    exit(1);
}

// The primary context of the device becomes current.
static inline CUcontext start_on(CUdevice device) {
    CUcontext context = NULL;
    OK(DRIVER(cuInit)(0));
    OK(DRIVER(cuDevicePrimaryCtxRetain)(&context, device));
    OK(DRIVER(cuCtxSetCurrent)(context));
    return context;
}

// An observation for whoever replays.
static inline size_t free_bytes(void) {
    size_t free = 0;
    size_t total = 0;
    OK(DRIVER(cuMemGetInfo_v2)(&free, &total));
    return free;
}

static inline CUmemAllocationProp memory_on(CUdevice device) {
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}

static inline CUmemPoolProps pool_on(CUdevice device) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED};
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}
