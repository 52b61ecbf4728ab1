// SPDX-License-Identifier: Apache-2.0
//
// Loads a CUDA library as an extension module would, privately, and makes one call of it, which need not
// succeed and may even crash on a driver that computes nothing: `ask_driver LIBRARY FUNCTION NUMBER...`. Then
// allocates once itself, through the shared runtime.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void**, size_t);

static sigjmp_buf before_call;

static void leave_call(int signal) {
    (void)signal;
    siglongjmp(before_call, 1);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    static long long out[64];  // where the function leaves its handle
    long numbers[3] = {0};
    for (int i = 0; i < 3 && i + 3 < argc; ++i) {
        numbers[i] = atol(argv[i + 3]);
    }
    int (*function)(void*, long, long, long) = (int (*)(void*, long, long, long))dlsym(library, argv[2]);
    if (function == NULL) return 1;
    signal(SIGSEGV, leave_call);
    if (sigsetjmp(before_call, 1) == 0) function(out, numbers[0], numbers[1], numbers[2]);
    signal(SIGSEGV, SIG_DFL);
    void* pointer = NULL;
    return cudaMalloc(&pointer, 4096);
}
