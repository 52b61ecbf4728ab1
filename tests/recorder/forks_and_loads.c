// SPDX-License-Identifier: Apache-2.0
//
// A program with a GPU that forks again and again, as a loader of data does; each child loads a library. One
// that the dynamic linker keeps waiting is killed by its alarm.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(void) {
    alarm(10);
    return dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL) == NULL;
}

int main(void) {
    void* driver = dlopen(getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL) return 2;
    int (*init)(unsigned);
    int (*allocate)(uint64_t*, size_t);
    *(void**)&init = dlsym(driver, "cuInit");
    *(void**)&allocate = dlsym(driver, "cuMemAlloc_v2");
    uint64_t address = 0;
    if (init(0) != 0 || allocate(&address, 4096) != 0) return 2;
    for (int i = 0; i < 150; ++i) {
        pid_t pid = fork();
        if (pid == 0) _exit(child());
        int status = 0;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
        usleep(10000);
    }
    return 0;
}
