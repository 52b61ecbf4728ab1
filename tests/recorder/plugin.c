// SPDX-License-Identifier: Apache-2.0
//
// A library that allocates on its own: plugin_run tells which runtime served it, or how the call failed.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#if defined(PLUGIN_LOOKS_UP)
// RTLD_DEFAULT must mean this library's own scope, RTLD_NEXT the objects after it.
int plugin_own_symbol(void) {
    return 1;
}
int plugin_run(size_t size) {
    (void)size;
    int own = dlsym(RTLD_DEFAULT, "plugin_own_symbol") != NULL;
    int next = dlsym(RTLD_NEXT, "plugin_own_symbol") == NULL;
    return own && next;
}
#elif defined(PLUGIN_ORPHAN)
int cudaHostRegister(void*, size_t, unsigned);
int plugin_run(size_t size) {
    static char memory[16];
    int result = cudaHostRegister(memory, size, 0);
    __asm__ volatile("");
    return result;
}
#else
#if defined(PLUGIN_ALLOCATES_AT_START)
int plugin_run(size_t size);
__attribute__((constructor)) static void at_start(void) {
    plugin_run(4096);
}
#endif
int cudaMalloc(void**, size_t);
int plugin_run(size_t size) {
    void* pointer = NULL;
    int result = cudaMalloc(&pointer, size);
    return result != 0 ? -result : (int)((uintptr_t)pointer >> 44);
}
#endif
