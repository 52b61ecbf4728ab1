// SPDX-License-Identifier: Apache-2.0
//
// A library that reaches the driver by ways that nothing preloaded stands in: linked to it directly, and by a
// look-up in the caller's own scope. Rule: each way takes and gives back the same memory as any other.
#include <dlfcn.h>
#include <stddef.h>

int cuMemAlloc_v2(unsigned long long* address, size_t size_bytes);
int cuMemFree_v2(unsigned long long address);

typedef int (*Allocate)(unsigned long long*, size_t);

static unsigned long long taken_by(Allocate allocate, size_t size_bytes) {
    unsigned long long address = 0;
    return allocate(&address, size_bytes) == 0 ? address : 0;
}

unsigned long long take_linked(size_t size_bytes) {
    return taken_by(cuMemAlloc_v2, size_bytes);
}

unsigned long long take_default_scope(size_t size_bytes) {
    return taken_by((Allocate)dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), size_bytes);
}

int give_back(unsigned long long address) {
    return cuMemFree_v2(address);
}
