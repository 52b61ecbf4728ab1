// SPDX-License-Identifier: Apache-2.0
//
// A program with children beside the driver at FAKE_CUDA, from which it has memory. `nvml_children COUNT`:
// children that ask NVML themselves, one after the other; one that waits for a lock that nobody will give up
// is killed by its alarm, and counted. `nvml_children 0`: one child that starts the driver again and takes
// memory of its own; both live until the end of their input.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct Memory {
    unsigned long long total, free, used;
};

static void* function(const char* library, const char* name) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void* found = handle == NULL ? NULL : dlsym(handle, name);
    if (found != NULL) return found;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

int main(int argc, char** argv) {
    int (*init)(unsigned);
    int (*create)(uint64_t*, size_t, const void*, unsigned long long);
    int (*find)(const char*, void**);
    int (*memory)(void*, struct Memory*);
    *(void**)&init = function(getenv("FAKE_CUDA"), "cuInit");
    *(void**)&create = function(getenv("FAKE_CUDA"), "cuMemCreate");
    *(void**)&find = function("libnvidia-ml.so.1", "nvmlDeviceGetHandleByPciBusId_v2");
    *(void**)&memory = function("libnvidia-ml.so.1", "nvmlDeviceGetMemoryInfo");
    const int properties[8] = {1, 0, 1, 0, 0, 0, 0, 0};  // pinned memory on device 0
    uint64_t handle = 0;
    if (init(0) != 0 || create(&handle, 2 << 20, properties, 0) != 0) return 1;
    int count = argc > 1 ? atoi(argv[1]) : 0;
    if (count == 0) {
        pid_t child = fork();
        if (child == 0 && (init(0) != 0 || create(&handle, 4 << 20, properties, 0) != 0)) return 1;
        char rest[64];
        while (read(0, rest, sizeof rest) > 0) {
        }
        if (child != 0) waitpid(child, NULL, 0);
        return 0;
    }
    int stuck = 0;
    for (int i = 0; i < count; ++i) {
        pid_t child = fork();
        if (child == 0) {
            void* device = NULL;
            struct Memory found;
            alarm(2);
            _exit(find("0000:07:00.0", &device) == 0 && memory(device, &found) == 0 ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        stuck += status != 0;
        usleep(3000);
    }
    printf("stuck %d\n", stuck);
    return 0;
}
