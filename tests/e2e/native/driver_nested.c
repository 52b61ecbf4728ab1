// SPDX-License-Identifier: Apache-2.0
//
// A call of the runtime makes calls of the driver: one fact. Of a runtime that is part of another library
// only the driver's call is seen, and that is the fact. Arguments: the library with such a runtime; anything
// more, and the reset comes from a thread that has no context.
#include "driver.h"

int cudaMalloc(void**, size_t);
int cudaMallocAsync(void**, size_t, void*);
int cudaHostAlloc(void**, size_t, unsigned);
int cudaDeviceReset(void);

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) return 1;
    int (*library_malloc)(void**, size_t) = (int (*)(void**, size_t))dlsym(library, "simplugin_malloc");
    int (*library_malloc_async)(void**, size_t) =
        (int (*)(void**, size_t))dlsym(library, "simplugin_malloc_async");
    int (*library_host_alloc)(void**, size_t) =
        (int (*)(void**, size_t))dlsym(library, "simplugin_host_alloc");
    void* pointer = NULL;
    OK(cudaMalloc(&pointer, 3 * kMebibyte));
    OK(cudaMallocAsync(&pointer, 4 * kMebibyte, NULL));
    OK(cudaHostAlloc(&pointer, 4096, 0));
    OK(library_malloc(&pointer, 5 * kMebibyte));
    OK(library_malloc_async(&pointer, 6 * kMebibyte));
    OK(library_host_alloc(&pointer, 8192));
    if (argc > 2) OK(DRIVER(cuCtxSetCurrent)(NULL));
    OK(cudaDeviceReset());
    return 0;
}
