// SPDX-License-Identifier: Apache-2.0
//
// A program that starts the driver at FAKE_CUDA, makes one allocation and then waits for the end of its
// input, so that a test can wait for what happens beside it. Argument "fork": a child ends before it waits.
// RUNTIME: a CUDA runtime that it loads first.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* function(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

int main(int argc, char** argv) {
    const char* runtime = getenv("RUNTIME");
    if (runtime != NULL && dlopen(runtime, RTLD_NOW | RTLD_LOCAL) == NULL) return 1;
    void* driver = dlopen(getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL) return 1;
    int (*init)(unsigned);
    int (*create)(uint64_t*, size_t, const void*, unsigned long long);
    *(void**)&init = function(driver, "cuInit");
    *(void**)&create = function(driver, "cuMemCreate");
    const int properties[8] = {1, 0, 1, 0, 0, 0, 0, 0};  // pinned memory on device 0
    uint64_t handle = 0;
    if (init(0) != 0 || create(&handle, 2 << 20, properties, 0) != 0) return 1;
    char rest[64];
    while (read(0, rest, sizeof rest) > 0) {
    }
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) exit(0);
        waitpid(child, NULL, 0);
    }
    printf("done\n");
    return 0;
}
