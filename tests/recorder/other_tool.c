// SPDX-License-Identifier: Apache-2.0
//
// Preloaded before the recorder: a tool that looks at the program's cudaMalloc and passes it on.
#include <dlfcn.h>
#include <stddef.h>

int cudaMalloc(void** out, size_t size) {
    int (*next)(void**, size_t) =
        __extension__(int (*)(void**, size_t)) dlvsym(RTLD_NEXT, "cudaMalloc", "libcudart.so.13");
    return next(out, size);
}
